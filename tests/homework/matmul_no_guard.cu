// wrong: out-of-bounds
#include <vector>
#define TILE 16

__global__ void matmul(const float *A, const float *B, float *C, int n) {
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int tile = 0; tile < (n + TILE - 1) / TILE; tile++) {
        int k = tile * TILE;
        a[threadIdx.y][threadIdx.x] = row < n && k + threadIdx.x < n ? A[row * n + k + threadIdx.x] : 0;
        b[threadIdx.y][threadIdx.x] = column < n && k + threadIdx.y < n ? B[(k + threadIdx.y) * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum += a[threadIdx.y][i] * b[i][threadIdx.x];
        __syncthreads();
    }
    C[row * n + column] = sum;
}

int main() {
    int n = 40;
    std::vector<float> a(n * n, 1.0f), b(n * n, 2.0f), c(n * n);
    size_t bytes = n * n * sizeof(float);
    float *dA, *dB, *dC;
    cudaMalloc(&dA, bytes);
    cudaMalloc(&dB, bytes);
    cudaMalloc(&dC, bytes);
    cudaMemcpy(dA, a.data(), bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, b.data(), bytes, cudaMemcpyHostToDevice);
    dim3 block(TILE, TILE);
    dim3 grid((n + TILE - 1) / TILE, (n + block.y - 1) / block.y);
    matmul<<<grid, block>>>(dA, dB, dC, n);
    cudaMemcpy(c.data(), dC, bytes, cudaMemcpyDeviceToHost);
}
