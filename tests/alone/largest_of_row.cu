// right
// The largest element of a row and where it is: a slot for each warp in two arrays.
__global__ void largest_of_row(const float *in, int *where, int cols) {
    __shared__ float value[32];
    __shared__ int index[32];
    float best = -3e38f;
    int at = -1;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        float v = in[blockIdx.x * cols + c];
        if (v > best) {
            best = v;
            at = c;
        }
    }
    for (int d = 16; d > 0; d /= 2) {
        float v = __shfl_down_sync(0xffffffff, best, d);
        int other = __shfl_down_sync(0xffffffff, at, d);
        if (v > best) {
            best = v;
            at = other;
        }
    }
    if (threadIdx.x % 32 == 0) {
        value[threadIdx.x / 32] = best;
        index[threadIdx.x / 32] = at;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < blockDim.x / 32; ++w)
            if (value[w] > best) {
                best = value[w];
                at = index[w];
            }
        where[blockIdx.x] = at;
    }
}
