// wrong: uninitialized-read
// The guard lets callers pass any n, and nobody writes zeros where it keeps threads from loading.
__global__ void sum_of_two_each_no_zeros(float *out, const float *in, int n) {
    extern __shared__ float s[];
    int t = threadIdx.x;
    if (t < n) {
        s[t] = in[t];
    }
    if (t + blockDim.x < n) {
        s[t + blockDim.x] = in[t + blockDim.x];
    }
    __syncthreads();
    for (int step = blockDim.x; step > 0; step /= 2) {
        if (t < step) {
            s[t] += s[t + step];
        }
        __syncthreads();
    }
    if (t == 0) {
        *out = s[0];
    }
}
