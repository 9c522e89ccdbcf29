// Hillis and Steele's scan in place: everybody has read before anybody writes, and written before the next step reads.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota
// expect: clean

__global__ void scan(int *data)
{
    __shared__ int sums[64];
    int t = threadIdx.x;
    sums[t] = data[t];
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        int left = t >= d ? sums[t - d] : 0;
        __syncthreads();
        sums[t] += left;
        __syncthreads();
    }
    data[t] = sums[t];
}
