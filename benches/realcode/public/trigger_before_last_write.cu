// NVIDIA/TensorRT-LLM#14668: a kernel triggers the dependent launch while other warps of its block still write, and a part of the dependent kernel does
// not wait.
// told: missing-dependency-wait
#include "launch.h"

__global__ void scales(int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 32)
        asm volatile("griddepcontrol.launch_dependents;");
    out[i] = i; //~
}

__global__ void use(int *out, const int *scale)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
    asm volatile("griddepcontrol.wait;" ::: "memory");
#else
    if (threadIdx.x < 32) // the other warp loads scales and does not wait
        asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    out[i] = scale[i] * 2; //~
}

int main()
{
    Array<int> scale(128), out(128);
    scales<<<2, 64>>>(scale.device);
    dependent(use, 2, 64, out.device, (const int *)scale.device);
    compare("scaled", out, 128, [](int i) { return i * 2; });
}
