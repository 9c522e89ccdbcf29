// Launches that may begin before the one before them has ended, which is not judged yet, and code for several GPUs.
//~ nvcc -gencode arch=compute_90,code=compute_90
//~ on sm_90 dependent: inconclusive
//~ on sm_90 behind: clean
//~ on sm_75 dependent: clean
//~ on sm_75 behind: clean
#include <cstdio>
#include <cstring>

__global__ void first(int *p) { p[threadIdx.x] = 7; }
__global__ void second(const int *p, int *q) { q[threadIdx.x] = p[threadIdx.x]; }

int main(int argc, char **argv)
{
    bool dependent = argc > 1 && !strcmp(argv[1], "dependent");
    int *p, *q;
    cudaMalloc(&p, 1024);
    cudaMalloc(&q, 1024);
    first<<<1, 256>>>(p);
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = dependent;
    cudaLaunchConfig_t config = {};
    config.gridDim = 1;
    config.blockDim = 256;
    config.attrs = &attribute;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, second, (const int *)p, q);
    cudaDeviceSynchronize();
    cudaFree(p);
    cudaFree(q);
    return cudaGetLastError();
}
