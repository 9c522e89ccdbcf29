// right
#include <cstdlib>

__global__ void shift(const int *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 < n) out[i] = in[i + 1];
}

int main() {
    const int n = 512;
    int *a, *b;
    cudaMalloc(&a, n * sizeof(int));
    cudaMalloc(&b, n * sizeof(int));
    int h[n];
    for (int i = 0; i < n; i++) h[i] = rand();
    cudaMemcpy(a, h, sizeof(h), cudaMemcpyHostToDevice);
    shift<<<n / 128, 128>>>(a, b, n);
    cudaDeviceSynchronize();
}
