// The host program in CUDA.
#include "reversed.cuh"
#include <cstdio>

int main()
{
    const int n = 64;
    int *data;
    if (cudaMallocManaged(&data, n * sizeof(int)) != cudaSuccess) return 2;
    for (int i = 0; i < n; i++) data[i] = i;
    reverse(data, n);
    if (cudaDeviceSynchronize() != cudaSuccess) return 3;
    cudaFree(data);
    puts("done");
}
