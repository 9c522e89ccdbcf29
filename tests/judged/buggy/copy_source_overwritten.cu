// A thread clears what it has copied before the copy is complete.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:uninitialized --arg 1=i32[64]:iota
// expect: async-copy-hazard

#include <cuda_pipeline.h>

__global__ void take(int *out, int *in)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &in[t], sizeof(int)); //~ async-copy-hazard#1 copy
    __pipeline_commit();
    in[t] = 0; //~ async-copy-hazard#1 write
    __pipeline_wait_prior(0);
    out[t] = tile[t];
}
