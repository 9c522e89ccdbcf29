// Relocatable device code: PTX of several objects is linked.
//~ with rdc/helper.cu
//~ nvcc -rdc=true
//~ run: clean
#include <cstdio>

extern __device__ int twice(int x);
extern __device__ int offset;
static __device__ int local(int x) { return x + 1; }

__global__ void kernel(int *out)
{
    printf("kernel %d\n", offset);
    *out = twice(local(20)) + offset;
}

int main()
{
    int *device, value;
    cudaMalloc(&device, sizeof *device);
    kernel<<<1, 1>>>(device);
    if (cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
    cudaFree(device);
    return value == 142 ? 0 : 3;
}
