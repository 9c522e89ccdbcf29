// Hillis and Steele's scan in place: the barrier keeps the steps apart, but within a step nothing
// keeps a thread from overwriting what its right neighbours have still to read.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota
// expect: data-race

__global__ void scan(int *data)
{
    __shared__ int sums[64];
    int t = threadIdx.x;
    sums[t] = data[t];
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        if (t >= d)
            sums[t] += sums[t - d]; //~ data-race#1 read write
        __syncthreads();
    }
    data[t] = sums[t];
}
