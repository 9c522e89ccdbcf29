// right
// A block sums a chunk of 2 * blockDim.x elements in an array that has a few more, so that neighbours lie in other banks. How large
// chunk and array are is for the caller to say.
__device__ int padded(int at) { return at + at / 32; }

__global__ void scan_of_chunks(unsigned *sums, const unsigned *in, unsigned n, unsigned array, unsigned chunk) {
    extern __shared__ unsigned s[];
    unsigned t = threadIdx.x;
    s[t] = 0;
    s[t + blockDim.x] = 0;
    if (t + chunk < array) {
        s[t + chunk] = 0;
    }
    __syncthreads();
    unsigned i = blockIdx.x * chunk + t;
    if (i < n) {
        s[padded(t)] = in[i];
        if (i + blockDim.x < n) {
            s[padded(t + blockDim.x)] = in[i + blockDim.x];
        }
    }
    unsigned step = 1;
    for (unsigned half = chunk / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) {
            s[padded(step * (2 * t + 2) - 1)] += s[padded(step * (2 * t + 1) - 1)];
        }
        step *= 2;
    }
    if (t == 0) {
        sums[blockIdx.x] = s[padded(chunk - 1)];
    }
}
