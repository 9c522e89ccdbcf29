// Memory of the host that is registered: kernels and host see the same bytes, also when it is the host's alone again.
//~ run : clean
//~ run beyond: out-of-bounds@13
//~ prints: 0 values differ
#include <cstdio>
#include <cstdlib>
#include <cstring>

__global__ void add(int *data, int value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] += value;
}

int main(int argc, char **argv)
{
    const int n = 5000;
    bool beyond = argc > 1 && !strcmp(argv[1], "beyond");
    int *all = (int *)malloc((n + 100) * sizeof(int)), differ = 0;
    int *host = all + 50, *device; // amid other data
    for (int i = 0; i < n + 100; i++)
        all[i] = i;
    cudaHostRegister(host, n * sizeof(int), cudaHostRegisterMapped);
    cudaHostGetDevicePointer(&device, host, 0);
    add<<<20, 256>>>(device, 1, n);
    cudaDeviceSynchronize();
    for (int i = 0; i < n + 100; i++)
        differ += all[i] != i + (i >= 50 && i < n + 50);
    host[7] = 1000; // seen by the next kernel
    add<<<20, 256>>>(device, 1, beyond ? n + 1 : n);
    cudaDeviceSynchronize();
    differ += host[7] != 1001 || host[8] != 60;
    cudaHostUnregister(host);
    differ += host[7] != 1001 || all[0] != 0;
    free(all);
    printf("%d values differ\n", beyond ? 0 : differ);
    return cudaGetLastError();
}
