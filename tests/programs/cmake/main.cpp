// The host program in C++, by the host's compiler alone.
#include <cstdio>
#include <cuda_runtime.h>

void reverse(int *data, int n);

int main()
{
    const int n = 64;
    int host[n], *data;
    for (int i = 0; i < n; i++) host[i] = i;
    if (cudaMalloc(&data, sizeof host) != cudaSuccess) return 2;
    cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice);
    reverse(data, n);
    if (cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost) != cudaSuccess) return 3;
    cudaFree(data);
    puts("done");
}
