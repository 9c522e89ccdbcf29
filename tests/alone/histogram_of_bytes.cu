// right
// Each block counts in shared memory and adds its counts to those of all.
__global__ void histogram_of_bytes(const unsigned char *in, unsigned *bins, int n) {
    __shared__ unsigned own[256];
    for (int b = threadIdx.x; b < 256; b += blockDim.x) own[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(&own[in[i]], 1);
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += blockDim.x) atomicAdd(&bins[b], own[b]);
}
