// The same by volatile pointers: every access happens, but nothing makes the lanes take turns.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:iota
// expect: lockstep-assumption

__global__ void scan(int *data)
{
    __shared__ int memory[32];
    volatile int *sums = memory;
    int t = threadIdx.x;
    sums[t] = data[t];
    __syncwarp();
#pragma unroll 1
    for (int d = 1; d < 32; d *= 2)
        if (t >= d)
            sums[t] += sums[t - d]; //~ lockstep-assumption read write
    __syncwarp();
    data[t] = sums[t];
}
