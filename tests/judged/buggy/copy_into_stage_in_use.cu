// The next stage is copied into the buffer that other threads may still read: the barrier at the end of the round is missing.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:uninitialized --arg 1=i32[256]:iota
// expect: data-race

#include <cuda_pipeline.h>

__global__ void sum_of_four(int *out, const int *in)
{
    __shared__ int stage[64];
    int t = threadIdx.x;
    int sum = 0;
    for (int round = 0; round < 4; ++round) {
        __pipeline_memcpy_async(&stage[t], &in[64 * round + t], sizeof(int)); //~ data-race#1 write
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncthreads();
        sum += stage[63 - t]; //~ data-race#1 read
    }
    out[t] = sum;
}
