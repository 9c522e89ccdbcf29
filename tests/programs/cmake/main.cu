// The host program in CUDA; with an argument it launches nothing.
#include "reversed.cuh"
#include <cstdio>

int main(int argc, char **)
{
    const int n = 64;
    int *data;
    if (argc > 1) return cudaFree(nullptr);
    if (cudaMallocManaged(&data, n * sizeof(int)) != cudaSuccess) return 2;
    for (int i = 0; i < n; i++) data[i] = i;
    reverse(data, n);
    if (cudaDeviceSynchronize() != cudaSuccess) return 3;
    cudaFree(data);
    puts("done");
}
