// right
#include <cstdio>
#include <cstdlib>
#define N 128

__device__ void order(int &a, int &b) {
    if (a > b) {
        int t = a;
        a = b;
        b = t;
    }
}

__global__ void odd_even_sort(int *data) {
    __shared__ int s[N];
    int t = threadIdx.x;
    s[t] = data[t];
    s[t + N / 2] = data[t + N / 2];
    __syncthreads();
    for (int phase = 0; phase < N; phase++) {
        int i = 2 * t + (phase & 1);
        if (i + 1 < N) order(s[i], s[i + 1]);
        __syncthreads();
    }
    data[t] = s[t];
    data[t + N / 2] = s[t + N / 2];
}

int main() {
    int h[N], *d;
    for (int i = 0; i < N; i++) h[i] = rand() % 1000;
    cudaMalloc(&d, sizeof(h));
    cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
    odd_even_sort<<<1, N / 2>>>(d);
    cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
    for (int i = 0; i < 10; i++) printf("%d ", h[i]);
    cudaFree(d);
}
