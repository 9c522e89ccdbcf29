// doubtful: nondeterministic-result
// The positive numbers, in any order: a block counts its own and asks for room once.
__global__ void kept_positive(const int *in, int *out, int *count, int n) {
    __shared__ int own, base;
    if (threadIdx.x == 0) own = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x, at = -1;
    if (i < n && in[i] > 0) at = atomicAdd(&own, 1);
    __syncthreads();
    if (threadIdx.x == 0) base = atomicAdd(count, own);
    __syncthreads();
    if (at >= 0) out[base + at] = in[i];
}
