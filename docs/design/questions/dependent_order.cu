// A dependent launch that does not wait, behind a launch with and without a trigger. Expected: stale words > 0 with the trigger, 0 without.
#include <cstdio>
#include <cuda_runtime.h>
template <bool trigger> __global__ void first(int *p, int n, int round)
{
    if (trigger) cudaTriggerProgrammaticLaunchCompletion();
    for (int k = 0; k < 200; k++) __nanosleep(100);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) p[i] = round;
}
__global__ void second(const int *p, int n, int round, unsigned *stale)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        if (((volatile const int *)p)[i] != round) atomicAdd(stale, 1);
}
template <bool trigger> void run()
{
    const int n = 1 << 20;
    int *p;
    unsigned *stale;
    cudaMalloc(&p, n * 4);
    cudaMallocManaged(&stale, 4);
    *stale = 0;
    cudaMemset(p, 0, n * 4);
    for (int round = 1; round <= 100; round++) {
        first<trigger><<<66, 256>>>(p, n, round);
        cudaLaunchAttribute a = {};
        a.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        a.val.programmaticStreamSerializationAllowed = 1;
        cudaLaunchConfig_t c = {};
        c.gridDim = 66; c.blockDim = 256; c.attrs = &a; c.numAttrs = 1;
        cudaLaunchKernelEx(&c, second, (const int *)p, n, round, stale);
    }
    printf("%s: %s, ", trigger ? "trigger" : "no trigger", cudaGetErrorString(cudaDeviceSynchronize()));
    printf("%u stale words\n", *stale);
}
int main() { run<true>(); run<false>(); }
