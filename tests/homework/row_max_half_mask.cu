// wrong: warp-sync-mask
#include <cstdio>
#include <cstdlib>

__global__ void max_of_rows(const float *rows, float *result, int width) {
    int lane = threadIdx.x % 32;
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    float best = -1e30f;
    for (int i = lane; i < width; i += 32) best = fmaxf(best, rows[row * width + i]);
    for (int d = 16; d > 0; d /= 2)
        if (lane < d) best = fmaxf(best, __shfl_down_sync(0xffffffff, best, d));
    if (lane == 0) result[row] = best;
}

int main() {
    const int rows = 8, width = 100;
    float h[rows * width], result[rows], *d_rows, *d_result;
    for (int i = 0; i < rows * width; i++) h[i] = rand() / (float)RAND_MAX;
    cudaMalloc(&d_rows, sizeof(h));
    cudaMalloc(&d_result, sizeof(result));
    cudaMemcpy(d_rows, h, sizeof(h), cudaMemcpyHostToDevice);
    max_of_rows<<<rows / 4, 128>>>(d_rows, d_result, width);
    cudaMemcpy(result, d_result, sizeof(result), cudaMemcpyDeviceToHost);
    printf("%f\n", result[0]);
}
