// right
// The block that the launch bounds say: 256 threads, two elements of which each adds.
__global__ __launch_bounds__(256) void dot_with_bounds(const float *a, const float *b, float *out, int n) {
    extern __shared__ float s[];
    float v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) v += a[i] * b[i];
    s[threadIdx.x] = v;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(out, s[0]);
}
