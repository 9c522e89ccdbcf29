// wrong: data-race
#include <cstdlib>
__global__ void scan(int *data, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = t < n ? data[t] : 0;
    __syncthreads();
    for (int offset = 1; offset < 128; offset *= 2) {
        int value = t >= offset ? s[t - offset] : 0;

        s[t] += value;
        __syncthreads();
    }
    if (t < n) data[t] = s[t];
}

int main(int argc, char **argv) {
    int n = 100;
    if (argc > 1) n = atoi(argv[1]);
    int *d;
    cudaMallocManaged(&d, n * sizeof(int));
    for (int i = 0; i < n; i++) d[i] = 1;
    scan<<<1, 128>>>(d, n);
    cudaDeviceSynchronize();
}
