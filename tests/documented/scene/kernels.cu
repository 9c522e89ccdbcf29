// Two scans; the slow one lacks a barrier.
__global__ void scan(int *data, int n)
{
    __shared__ int sums[1024];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    sums[t] = i < n ? data[i] : 0;
    __syncthreads();
    for (int step = 1; step < blockDim.x; step *= 2) {
        int before = t >= step ? sums[t - step] : 0;
        __syncthreads();
        sums[t] += before;
        __syncthreads();
    }
    if (i < n)
        data[i] = sums[t];
}

__global__ void scan_slow(int *data, int n)
{
    __shared__ int sums[1024];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    sums[t] = i < n ? data[i] : 0;
    __syncthreads();
    for (int step = 1; step < blockDim.x; step *= 2) {
        int before = t >= step ? sums[t - step] : 0;
        sums[t] += before;
        __syncthreads();
    }
    if (i < n)
        data[i] = sums[t];
}
