// Copies arrive at an mbarrier, one warp waits for it, and a barrier tells the other one.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota --arg 1=i32[64]:zeros
// expect: clean

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
    __pipeline_memcpy_async(&tile[t], &in[t], sizeof(int));
    __pipeline_arrive_on(&arrived);
    __mbarrier_token_t phase = __mbarrier_arrive(&arrived);
    if (t < 32)
        while (!__mbarrier_test_wait(&arrived, phase)) {}
    __syncthreads();
    out[t] = tile[63 - t];
}
