// Each thread reads only what it has copied itself, but it has not waited for that either: the copy has no place in the order of
// its thread's instructions.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:uninitialized --arg 1=i32[64]:iota
// expect: async-copy-hazard

#include <cuda_pipeline.h>

__global__ void pass(int *out, const int *in)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = -1;
    __pipeline_memcpy_async(&tile[t], &in[t], sizeof(int)); //~ async-copy-hazard#1 copy
    __pipeline_commit();
    out[t] = tile[t]; //~ async-copy-hazard#1 read
}
