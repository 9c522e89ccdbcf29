// A warp's scan in shared memory as it was written when the lanes of a warp ran in lockstep, by plain
// pointers.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:iota
// expect: data-race, uninitialized-read

__global__ void scan(int *data)
{
    __shared__ int sums[32];
    int t = threadIdx.x;
    sums[t] = data[t]; //~ data-race#1 write
#pragma unroll 1
    for (int d = 1; d < 32; d *= 2)
        if (t >= d)
            sums[t] += sums[t - d]; //~ data-race#3 read write, data-race#1 read, uninitialized-read
    data[t] = sums[t];
}
