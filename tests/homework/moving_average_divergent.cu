// wrong: divergent-barrier
#include <cstdio>
#include <cstdlib>
#define TILE 64

__global__ void moving_average(const float *in, float *out, int n) {
    __shared__ float s[TILE + 2];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float mine = 0;
    if (i < n) {
        s[threadIdx.x + 1] = in[i];
        if (threadIdx.x == 0) s[0] = i > 0 ? in[i - 1] : 0.0f;
        if (threadIdx.x == TILE - 1 || i == n - 1) s[threadIdx.x + 2] = i + 1 < n ? in[i + 1] : 0.0f;
        __syncthreads();
        mine = (s[threadIdx.x] + s[threadIdx.x + 1] + s[threadIdx.x + 2]) / 3;
    }
    __syncthreads();
    s[threadIdx.x] = mine;
    __syncthreads();
    if (i < n) out[i] = s[threadIdx.x];
}

int main() {
    int n = 1000;
    size_t size = n * sizeof(float);
    float *h = (float *)malloc(size), *d_in, *d_out;
    for (int i = 0; i < n; i++) h[i] = i;
    cudaMalloc(&d_in, size);
    cudaMalloc(&d_out, size);
    cudaMemcpy(d_in, h, size, cudaMemcpyHostToDevice);
    int blocks = (n + TILE - 1) / TILE;
    moving_average<<<blocks, TILE>>>(d_in, d_out, n);
    cudaMemcpy(h, d_out, size, cudaMemcpyDeviceToHost);
    printf("%f\n", h[n / 2]);
    free(h);
}
