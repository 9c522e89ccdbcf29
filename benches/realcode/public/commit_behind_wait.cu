// csarofeen/pytorch#2457: the copy of the next stage is committed behind the wait, so that the wait counts one group too few.
// told: async-copy-hazard
#include "../compare.h"
#include <cuda_pipeline.h>

__global__ void sums(int *out, const int *in, int tiles)
{
    constexpr int STAGES = 3;
    __shared__ int stage[STAGES][64];
    int t = threadIdx.x, sum = 0;
    auto copy = [&](int tile) {
        if (tile < tiles)
            __pipeline_memcpy_async(&stage[tile % STAGES][t], &in[tile * 64 + t], sizeof(int)); //~
    };
    for (int k = 0; k < STAGES - 1; ++k) {
        copy(k);
        __pipeline_commit();
    }
    __pipeline_wait_prior(STAGES - 2);
    __syncthreads();
    for (int k = 0; k < tiles; ++k) {
        copy(k + STAGES - 1);
#ifdef FIXED
        __pipeline_commit();
#endif
        sum += stage[k % STAGES][t ^ 1]; //~
        __pipeline_wait_prior(STAGES - 2);
        __syncthreads();
#ifndef FIXED
        __pipeline_commit();
#endif
    }
    out[t] = sum;
}

int main()
{
    auto in = Array<int>::of(64 * 8, [](int i) { return i; });
    Array<int> out(64);
    sums<<<1, 64>>>(out.device, in.device, 8);
    compare("sums", out, 64, [](int t) { return 64 * 28 + 8 * (t ^ 1); });
}
