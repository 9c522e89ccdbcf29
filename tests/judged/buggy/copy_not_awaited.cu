// A barrier makes the threads meet, but nobody has waited for the copies that they began.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:uninitialized --arg 1=i32[64]:iota
// expect: async-copy-hazard

#include <cuda_pipeline.h>

__global__ void swap_neighbours(int *out, const int *in)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &in[t], sizeof(int)); //~ async-copy-hazard#1 copy
    __pipeline_commit();
    __syncthreads();
    out[t] = tile[t ^ 1]; //~ async-copy-hazard#1 read
    __pipeline_wait_prior(0);
}
