// right
// Each thread loads two elements and the second ones count twice, so a block of n / 2 threads is launched: nothing else fits.
__global__ void scan_of_two_each(float *out, const float *in, int n) {
    extern __shared__ float sums[];
    int t = threadIdx.x;
    int low = t, high = t + n / 2;
    sums[low] = in[low];
    sums[high] = 2 * in[high];
    int step = 1;
    for (int half = n / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) {
            sums[step * (2 * t + 2) - 1] += sums[step * (2 * t + 1) - 1];
        }
        step *= 2;
    }
    __syncthreads();
    out[low] = sums[low];
    out[high] = sums[high];
}
