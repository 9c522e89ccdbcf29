// right
#include <cstdio>
#define THREADS 128
#define BLOCKS 16

__device__ unsigned int blocks_done = 0;

// The block that comes last adds the sums of all blocks.
__global__ void sum_single_pass(const float *in, float *partial, float *out, int n) {
    __shared__ float s[THREADS];
    __shared__ bool last;
    int t = threadIdx.x;
    float mine = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) mine += in[i];
    s[t] = mine;
    __syncthreads();
    for (int d = THREADS / 2; d > 0; d /= 2) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0) {
        partial[blockIdx.x] = s[0];
        __threadfence();
        unsigned int ticket = atomicInc(&blocks_done, gridDim.x);
        last = ticket == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        __threadfence();
        float all = 0;
        for (int b = 0; b < gridDim.x; b++) all += partial[b];
        *out = all;
        blocks_done = 0;
    }
}

int main() {
    int n = 1 << 14;
    float *h = new float[n], *d_in, *d_partial, *d_out, result;
    for (int i = 0; i < n; i++) h[i] = 1.0f;
    cudaMalloc(&d_in, n * sizeof(float));
    cudaMalloc(&d_partial, BLOCKS * sizeof(float));
    cudaMalloc(&d_out, sizeof(float));
    cudaMemcpy(d_in, h, n * sizeof(float), cudaMemcpyHostToDevice);
    sum_single_pass<<<BLOCKS, THREADS>>>(d_in, d_partial, d_out, n);
    cudaMemcpy(&result, d_out, sizeof(float), cudaMemcpyDeviceToHost);
    printf("%f\n", result);
    delete[] h;
}
