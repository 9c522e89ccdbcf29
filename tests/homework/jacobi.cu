// right
#include <cstdio>
#include <cstdlib>
#include <utility>

__global__ void jacobi(const float *a, float *b, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && x < w - 1 && y > 0 && y < h - 1)
        b[y * w + x] = 0.25f * (a[y * w + x - 1] + a[y * w + x + 1] + a[(y - 1) * w + x] + a[(y + 1) * w + x]);
}

int main(int argc, char **argv) {
    const int width = 64, height = 48, steps = 10;
    size_t bytes = width * height * sizeof(float);
    float *grid = (float *)malloc(bytes), *d_old, *d_new;
    for (int i = 0; i < width * height; ++i) grid[i] = (float)rand() / RAND_MAX;
    cudaMalloc((void **)&d_old, bytes);
    cudaMalloc((void **)&d_new, bytes);
    cudaMemcpy(d_old, grid, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(d_new, d_old, bytes, cudaMemcpyDeviceToDevice);
    dim3 block(16, 16);
    dim3 blocks((width + block.x - 1) / block.x, (height + block.y - 1) / block.y);
    for (int i = 0; i < steps; i++) {
        jacobi<<<blocks, block>>>(d_old, d_new, width, height);
        std::swap(d_old, d_new);
    }
    cudaMemcpy(grid, d_old, bytes, cudaMemcpyDeviceToHost);
    printf("%f\n", grid[width + 1]);
    free(grid);
}
