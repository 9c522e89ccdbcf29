// A histogram in shared memory that counts by atomic additions.
//
// flags: --grid 1 --block 64 --arg 0=i32[8]:zeros --arg 1=u8[64]:random:0..=7
// expect: clean

__global__ void histogram(int *bins, const unsigned char *values)
{
    __shared__ int counts[8];
    int t = threadIdx.x;
    if (t < 8)
        counts[t] = 0;
    __syncthreads();
    atomicAdd(&counts[values[t]], 1);
    __syncthreads();
    if (t < 8)
        bins[t] = counts[t];
}
