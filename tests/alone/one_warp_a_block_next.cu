// wrong: out-of-bounds
// The array has no room for the last thread's neighbour.
__global__ void one_warp_a_block(int *x, int n) {
    __shared__ int s[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    if (i < n) x[i] = s[threadIdx.x + 1];
}
