// Copies and threads read one source at the same time, which conflicts with nothing.
//
// flags: --grid 2 --block 64 --arg 0=i32[128]:uninitialized --arg 1=i32[64]:iota
// expect: clean

#include <cuda_pipeline.h>

__global__ void twice(int *out, const int *in)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &in[t], sizeof(int));
    __pipeline_commit();
    int own = in[63 - t];
    __pipeline_wait_prior(0);
    __syncthreads();
    out[64 * blockIdx.x + t] = own + tile[63 - t];
}
