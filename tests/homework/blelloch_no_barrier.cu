// wrong: data-race
#include <cstdio>
#include <cstdlib>
#define N 512

__global__ void exclusive_scan(const int *in, int *out) {
    __shared__ int temp[N];
    int t = threadIdx.x, offset = 1;
    temp[2 * t] = in[2 * t];
    temp[2 * t + 1] = in[2 * t + 1];
    for (int d = N >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) {
            int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
            temp[b] += temp[a];
        }
        offset *= 2;
    }
    if (t == 0) temp[N - 1] = 0;
    for (int d = 1; d < N; d *= 2) {
        offset >>= 1;
        if (t < d) {
            int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
            int left = temp[a];
            temp[a] = temp[b];
            temp[b] += left;
        }
    }
    __syncthreads();
    out[2 * t] = temp[2 * t];
    out[2 * t + 1] = temp[2 * t + 1];
}

int main() {
    int h_in[N], h_out[N], *d_in, *d_out;
    for (int i = 0; i < N; i++) h_in[i] = rand() % 10;
    cudaMalloc(&d_in, N * sizeof(int));
    cudaMalloc(&d_out, N * sizeof(int));
    cudaMemcpy(d_in, h_in, N * sizeof(int), cudaMemcpyHostToDevice);
    exclusive_scan<<<1, N / 2>>>(d_in, d_out);
    cudaMemcpy(h_out, d_out, N * sizeof(int), cudaMemcpyDeviceToHost);
    printf("%d\n", h_out[N - 1]);
    cudaFree(d_in);
    cudaFree(d_out);
}
