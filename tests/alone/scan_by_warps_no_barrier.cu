// wrong: data-race
// The other warps read the sums before the first one has scanned them.
__device__ int scan_of_warp(int v) {
    int lane = threadIdx.x & 31;
    for (int d = 1; d < 32; d *= 2) {
        int other = __shfl_up_sync(0xffffffff, v, d);
        if (lane >= d) v += other;
    }
    return v;
}

__global__ void scan_by_warps(const int *in, int *out, int n) {
    __shared__ int sums[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    int v = scan_of_warp(i < n ? in[i] : 0);
    if (lane == 31) sums[warp] = v;
    __syncthreads();
    if (warp == 0) {
        int sum = lane < blockDim.x / 32 ? sums[lane] : 0;
        sums[lane] = scan_of_warp(sum);
    }
    if (warp > 0) v += sums[warp - 1];
    if (i < n) out[i] = v;
}
