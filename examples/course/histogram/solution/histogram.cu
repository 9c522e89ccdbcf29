// Histogram of bytes: each block counts in shared memory, and adds what it has counted to the bins.
__global__ void histogram(const unsigned char *data, unsigned int *bins, int n)
{
    __shared__ unsigned int counts[256];
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x)
        counts[bin] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&counts[data[i]], 1u);
    __syncthreads();
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x)
        if (counts[bin] > 0)
            atomicAdd(&bins[bin], counts[bin]);
}
