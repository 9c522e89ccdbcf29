// Two stages are in flight, and the wait leaves the newest one out. In the last round nothing newer was begun: the stage that is
// used then is the newest one itself. An empty group would have kept the count right.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:uninitialized --arg 1=i32[256]:iota
// expect: async-copy-hazard

#include <cuda_pipeline.h>

__global__ void sum_of_four(int *out, const int *in)
{
    __shared__ int stage[2][64];
    int t = threadIdx.x;
    int sum = 0;
    __pipeline_memcpy_async(&stage[0][t], &in[t], sizeof(int));
    __pipeline_commit();
    for (int round = 0; round < 4; ++round) {
        if (round + 1 < 4) {
            __pipeline_memcpy_async(&stage[(round + 1) % 2][t], &in[64 * (round + 1) + t], sizeof(int)); //~ async-copy-hazard#1 copy
            __pipeline_commit();
        }
        __pipeline_wait_prior(1);
        __syncthreads();
        sum += stage[round % 2][t ^ 1]; //~ async-copy-hazard#1 read
        __syncthreads();
    }
    out[t] = sum;
}
