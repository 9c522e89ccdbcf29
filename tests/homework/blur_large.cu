// right
#include <cstdio>
#include <cstdlib>
#define W 768
#define H 768
#define R 5

__constant__ float weights[R * R];

__global__ void blur(const float *in, float *out, int rows, int cols, int k) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x + k > cols || y + k > rows) return;
    float sum = 0;
    for (int i = 0; i < k; i++)
        for (int j = 0; j < k; j++) sum += weights[i * k + j] * in[(y + i) * cols + x + j];
    out[y * cols + x] = sum;
}

int main() {
    int rows = H, cols = W, k = R;
    size_t bytes = rows * cols * sizeof(float);
    float *h = (float *)malloc(bytes), hw[R * R];
    for (int i = 0; i < rows * cols; i++) h[i] = (i % 13) * 0.1f;
    for (int i = 0; i < R * R; i++) hw[i] = 1.0f / (R * R);
    float *d_in, *d_out;
    cudaMalloc(&d_in, bytes);
    cudaMalloc(&d_out, bytes);
    cudaMemcpy(d_in, h, bytes, cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(weights, hw, sizeof(hw));
    dim3 block(16, 16), grid((cols + 15) / 16, (rows + 15) / 16);
    blur<<<grid, block>>>(d_in, d_out, rows, cols, k);
    cudaMemcpy(h, d_out, bytes, cudaMemcpyDeviceToHost);
    printf("%f\n", h[0]);
    free(h);
}
