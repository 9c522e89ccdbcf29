// right
#include <cstdio>
#define N 1000003

__global__ void silu(const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) out[i] = in[i] / (1.0f + expf(-in[i]));
}

int main() {
    static float h[N];
    for (int i = 0; i < N; i++) h[i] = i * 0.001f;
    float *d_in, *d_out;
    cudaMalloc(&d_in, N * sizeof(float));
    cudaMalloc(&d_out, N * sizeof(float));
    cudaMemcpy(d_in, h, N * sizeof(float), cudaMemcpyHostToDevice);
    silu<<<(N + 255) / 256, 256>>>(d_in, d_out);
    cudaMemcpy(h, d_out, N * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%f\n", h[7]);
}
