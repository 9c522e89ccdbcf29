// wrong: assertion-failed
#include <cassert>
__global__ void thread_asserted(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(i < 64);
    if (i < n)
        x[i] *= 2.0f;
}
