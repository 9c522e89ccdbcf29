// The second copy is meant to replace the first, but two copies are performed in any order.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:uninitialized --arg 1=i32[64]:iota --arg 2=i32[64]:zeros
// expect: async-copy-hazard

#include <cuda_pipeline.h>

__global__ void replace(int *out, const int *in, const int *other)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &in[t], sizeof(int)); //~ async-copy-hazard#1 copy
    __pipeline_memcpy_async(&tile[t], &other[t], sizeof(int)); //~ async-copy-hazard#1 copy
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[t] = tile[t];
}
