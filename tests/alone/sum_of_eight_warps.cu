// right
// The warps' sums are combined by eight lanes: the kernel is made for 256 threads, as the constants behind the array's size say.
constexpr int THREADS = 256, LANES = 32, WARPS = THREADS / LANES;

__global__ void sum_of_eight_warps(const float *in, float *out, int n) {
    __shared__ float sums[WARPS];
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += in[i];
    for (int offset = LANES / 2; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (threadIdx.x % LANES == 0) sums[threadIdx.x / LANES] = sum;
    __syncthreads();
    if (threadIdx.x < LANES) {
        sum = threadIdx.x < WARPS ? sums[threadIdx.x] : 0;
        for (int offset = LANES / 2; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
        if (threadIdx.x == 0) *out = sum;
    }
}
