// flashinfer-ai/flashinfer#2708: the wait for the kernel in front stands under a macro that the build does not define; the launch is dependent all the same.
// told: missing-dependency-wait
#include "launch.h"

__device__ void wait_for_dependency()
{
#ifdef FIXED
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__global__ void quantise(signed char *out, const int *in)
{
    asm volatile("griddepcontrol.launch_dependents;");
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] / 2; //~
}

__global__ void multiply(int *out, const signed char *in)
{
    wait_for_dependency();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] * 3; //~
}

int main()
{
    auto in = Array<int>::of(128, [](int i) { return i; });
    Array<signed char> small(128);
    Array<int> out(128);
    quantise<<<2, 64>>>(small.device, in.device);
    dependent(multiply, 2, 64, out.device, (const signed char *)small.device);
    compare("product", out, 128, [](int i) { return i / 2 * 3; });
}
