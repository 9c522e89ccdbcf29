// wrong: data-race
// The block's place is read before the first thread has asked for it.
__global__ void kept_positive(const int *in, int *out, int *count, int n) {
    __shared__ int own, base;
    if (threadIdx.x == 0) own = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x, at = -1;
    if (i < n && in[i] > 0) at = atomicAdd(&own, 1);
    __syncthreads();
    if (threadIdx.x == 0) base = atomicAdd(count, own);
    if (at >= 0) out[base + at] = in[i];
}
