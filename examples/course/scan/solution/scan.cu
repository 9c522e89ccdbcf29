// Inclusive scan of each block's part: each warp scans its elements by shuffles, the first warp scans
// the sums of the warps, and each thread adds the sum of the warps before its own.
__device__ int warp_scan(int value, int lane)
{
    for (int distance = 1; distance < 32; distance *= 2) {
        int before = __shfl_up_sync(0xffffffff, value, distance);
        if (lane >= distance)
            value += before;
    }
    return value;
}

__global__ void scan(const int *in, int *out, int n)
{
    extern __shared__ int sums[];
    int t = threadIdx.x, lane = t % 32, warp = t / 32, warps = blockDim.x / 32;
    int i = blockIdx.x * blockDim.x + t;
    int value = warp_scan(i < n ? in[i] : 0, lane);
    if (lane == 31)
        sums[warp] = value;
    __syncthreads();
    if (warp == 0) {
        int sum = warp_scan(lane < warps ? sums[lane] : 0, lane);
        if (lane < warps)
            sums[lane] = sum;
    }
    __syncthreads();
    if (warp > 0)
        value += sums[warp - 1];
    if (i < n)
        out[i] = value;
}
