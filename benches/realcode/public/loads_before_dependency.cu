// flashinfer-ai/flashinfer#5081: an object whose constructor loads what the kernel in front writes is constructed before the wait for that kernel.
// told: missing-dependency-wait
#include "launch.h"

__global__ void produce(int *residual)
{
    cudaTriggerProgrammaticLaunchCompletion();
    residual[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x; //~
}

struct Fused {
    int first;
    __device__ Fused(const int *residual) { first = residual[blockIdx.x * blockDim.x + threadIdx.x]; } //~
};

__global__ void fuse(int *out, const int *residual)
{
#ifdef FIXED
    cudaGridDependencySynchronize();
    Fused op(residual);
#else
    Fused op(residual);
    cudaGridDependencySynchronize();
#endif
    out[blockIdx.x * blockDim.x + threadIdx.x] = op.first + 1;
}

int main()
{
    Array<int> residual(128), out(128);
    produce<<<2, 64>>>(residual.device);
    dependent(fuse, 2, 64, out.device, (const int *)residual.device);
    compare("fused", out, 128, [](int i) { return i % 64 + 1; });
}
