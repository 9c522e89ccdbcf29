// right
// Each warp puts its sum into a slot, and the first warp adds them: right for blocks of any whole number of warps.
__device__ float warp_sum(float v) {
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
    return v;
}

__global__ void sum_by_warps(const float *in, float *out, int n) {
    __shared__ float slot[32];
    float v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) v += in[i];
    v = warp_sum(v);
    if (threadIdx.x % 32 == 0) slot[threadIdx.x / 32] = v;
    __syncthreads();
    v = threadIdx.x < blockDim.x / 32 ? slot[threadIdx.x % 32] : 0;
    if (threadIdx.x < 32) v = warp_sum(v);
    if (threadIdx.x == 0) out[blockIdx.x] = v;
}
