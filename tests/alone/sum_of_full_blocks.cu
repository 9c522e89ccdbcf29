// right
// All 32 slots are read, so a block has 1,024 threads: with fewer, slots are read that no warp has written.
__device__ float warp_sum(float v) {
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
    return v;
}

__global__ void sum_of_full_blocks(const float *in, float *out) {
    __shared__ float slot[32];
    float v = warp_sum(in[blockIdx.x * blockDim.x + threadIdx.x]);
    if (threadIdx.x % 32 == 0) slot[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = warp_sum(slot[threadIdx.x]);
        if (threadIdx.x == 0) out[blockIdx.x] = v;
    }
}
