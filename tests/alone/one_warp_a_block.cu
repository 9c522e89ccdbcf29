// right
// An element of the array a thread: a block of 32 threads is launched, although the guard asks for n.
__global__ void one_warp_a_block(int *x, int n) {
    __shared__ int s[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    if (i < n) x[i] = s[31 - threadIdx.x];
}
