// wrong: data-race
// The helper's second call overwrites slots that slower warps still read for the first.
__device__ float block_sum(float v) {
    __shared__ float part[32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(0xffffffff, v, d);
    if (lane == 0) part[warp] = v;
    __syncthreads();
    v = lane < (blockDim.x + 31) / 32 ? part[lane] : 0;
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(0xffffffff, v, d);
    return v;
}

__global__ void layer_norm(const float *x, const float *weight, const float *bias, float *y, int width, float epsilon) {
    const float *in = x + blockIdx.x * width;
    float sum = 0;
    for (int i = threadIdx.x; i < width; i += blockDim.x) sum += in[i];
    float mean = block_sum(sum) / width;
    float squares = 0;
    for (int i = threadIdx.x; i < width; i += blockDim.x) squares += (in[i] - mean) * (in[i] - mean);
    float scale = rsqrtf(block_sum(squares) / width + epsilon);
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        y[blockIdx.x * width + i] = (in[i] - mean) * scale * weight[i] + bias[i];
}
