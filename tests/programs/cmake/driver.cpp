// Asks the driver and the runtime.
#include <cstdio>
#include <cuda.h>
#include <cuda_runtime.h>

int main()
{
    int devices = 0, version = 0;
    if (cuInit(0) != CUDA_SUCCESS || cuDeviceGetCount(&devices) != CUDA_SUCCESS) return 2;
    if (cudaRuntimeGetVersion(&version) != cudaSuccess) return 3;
    printf("%d device, runtime %d\n", devices, version / 1000);
}
