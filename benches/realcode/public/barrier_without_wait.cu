// NVIDIA/Fuser#3438: a barrier was meant to make a cp.async visible to all threads, but nobody waits for the copy before it.
// told: async-copy-hazard
#include "../compare.h"
#include <cuda_pipeline.h>

__global__ void rows(int *out, const int *bias, const int *in)
{
    __shared__ int once[32], tile[4][32];
    int x = threadIdx.x, y = threadIdx.y;
    if (y == 0)
        __pipeline_memcpy_async(&once[x], &bias[x], sizeof(int)); //~
#ifdef FIXED
    __pipeline_commit();
    __pipeline_wait_prior(0);
#endif
    __syncthreads();
    for (int k = 0; k < 2; ++k) {
        __pipeline_memcpy_async(&tile[y][x], &in[(k * 4 + y) * 32 + x], sizeof(int));
        __pipeline_commit();
        __pipeline_wait_prior(0);
        out[(k * 4 + y) * 32 + x] = tile[y][x] + once[x]; //~
    }
}

int main()
{
    auto each = [](int i) { return i * 3; };
    auto bias = Array<int>::of(32, each), in = Array<int>::of(256, each);
    Array<int> out(256);
    rows<<<1, dim3(32, 4)>>>(out.device, bias.device, in.device);
    compare("sum", out, 256, [](int i) { return i * 3 + i % 32 * 3; });
}
