// One stage is used while the next one is copied. The empty groups of the last round keep the count of the wait right.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:uninitialized --arg 1=i32[256]:iota
// expect: clean

#include <cuda_pipeline.h>

__global__ void sum_of_four(int *out, const int *in)
{
    __shared__ int stage[2][64];
    int t = threadIdx.x;
    int sum = 0;
    __pipeline_memcpy_async(&stage[0][t], &in[t], sizeof(int));
    __pipeline_commit();
    for (int round = 0; round < 4; ++round) {
        if (round + 1 < 4)
            __pipeline_memcpy_async(&stage[(round + 1) % 2][t], &in[64 * (round + 1) + t], sizeof(int));
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        sum += stage[round % 2][63 - t];
        __syncthreads();
    }
    out[t] = sum;
}
