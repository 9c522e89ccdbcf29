// Each thread waits for its copies, then all threads for each other. In between, other elements are used.
//
// flags: --grid 2 --block 64 --arg 0=i32[128]:uninitialized --arg 1=i32[512]:iota
// expect: clean

#include <cuda_pipeline.h>

__global__ void gather(int *out, const int *in)
{
    __shared__ int4 tile[64];
    __shared__ int other[64];
    int t = threadIdx.x;
    const int4 *from = reinterpret_cast<const int4 *>(in) + 64 * blockIdx.x;
    __pipeline_memcpy_async(&tile[t], &from[t], sizeof(int4));
    __pipeline_commit();
    other[t] = in[4 * t];
    __syncthreads();
    int sum = other[63 - t];
    __pipeline_wait_prior(0);
    __syncthreads();
    out[64 * blockIdx.x + t] = sum + tile[t ^ 1].w;
}
