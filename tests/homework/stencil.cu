// right
#define RADIUS 3
#define BLOCK 64

__global__ void stencil(const int *in, int *out) {
    __shared__ int s[BLOCK + 2 * RADIUS];
    int g = blockIdx.x * blockDim.x + threadIdx.x + RADIUS, l = threadIdx.x + RADIUS;
    s[l] = in[g];
    if (threadIdx.x < RADIUS) {
        s[l - RADIUS] = in[g - RADIUS];
        s[l + BLOCK] = in[g + BLOCK];
    }
    __syncthreads();
    int sum = 0;
    for (int i = -RADIUS; i <= RADIUS; i++) sum += s[l + i];
    out[g] = sum;
}

int main() {
    const int n = 1024;
    size_t size = (n + 2 * RADIUS) * sizeof(int);
    int *in, *out;
    cudaMalloc(&in, size);
    cudaMalloc(&out, size);
    cudaMemset(in, 1, size);
    stencil<<<n / BLOCK, BLOCK>>>(in, out);
    cudaDeviceSynchronize();
}
