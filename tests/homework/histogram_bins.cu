// wrong: out-of-bounds
#include <cstdlib>
#define BINS 64

__global__ void histogram(const int *data, int *bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[data[i]], 1);
}

int main() {
    const int N = 1 << 20;
    int *h = new int[N];
    for (int i = 0; i < N; ++i) h[i] = rand() % 100;
    int *d_data, *d_bins;
    cudaMalloc((void **)&d_data, N * sizeof(int));
    cudaMalloc((void **)&d_bins, BINS * sizeof(int));
    cudaMemcpy(d_data, h, N * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemset(d_bins, 0, BINS * sizeof(int));
    histogram<<<(N + 255) / 256, 256>>>(d_data, d_bins, N);
    cudaDeviceSynchronize();
}
