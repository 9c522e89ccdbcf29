// Inclusive scan of each block's part after Hillis and Steele: all in shared memory, two barriers a step.
__global__ void scan(const int *in, int *out, int n)
{
    extern __shared__ int sums[];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    sums[t] = i < n ? in[i] : 0;
    for (int distance = 1; distance < blockDim.x; distance *= 2) {
        __syncthreads();
        int before = t >= distance ? sums[t - distance] : 0;
        __syncthreads();
        sums[t] += before;
    }
    if (i < n)
        out[i] = sums[t];
}
