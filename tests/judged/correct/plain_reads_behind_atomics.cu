// Everybody counts by atomics, a barrier, then everybody reads the counts plainly, and one thread resets them plainly
// behind another barrier.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:uninitialized --arg 1=u8[128]:random:0..=7
// expect: clean

__global__ void rank(int *out, const unsigned char *values)
{
    __shared__ int counts[8];
    int t = threadIdx.x;
    if (t < 8)
        counts[t] = 0;
    __syncthreads();
    int common = 0;
    for (int round = 0; round < 2; round++) {
        int value = values[round * 64 + t];
        atomicAdd(&counts[value], 1);
        __syncthreads();
        common += counts[value];
        __syncthreads();
        if (t < 8)
            counts[t] = 0;
        __syncthreads();
    }
    out[t] = common;
}
