// Copies arrive at an mbarrier that nobody waits for: a barrier of the block stands in its place.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota --arg 1=i32[64]:zeros
// expect: async-copy-hazard

#include <cuda_awbarrier_primitives.h>
#include <cuda_pipeline_primitives.h>

__global__ void neighbours(const int *in, int *out)
{
    __shared__ int tile[64];
    __shared__ __mbarrier_t arrived;
    int t = threadIdx.x;
    if (t == 0)
        __mbarrier_init(&arrived, 64);
    __syncthreads();
    __pipeline_memcpy_async(&tile[t], &in[t], sizeof(int)); //~ async-copy-hazard#1 copy
    __pipeline_arrive_on(&arrived);
    __mbarrier_arrive(&arrived);
    __syncthreads();
    out[t] = tile[t ^ 1]; //~ async-copy-hazard#1 read
}
