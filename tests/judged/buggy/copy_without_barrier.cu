// Each thread waits for its own copy, and then reads what another thread has copied.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:uninitialized --arg 1=i32[64]:iota
// expect: data-race, uninitialized-read

#include <cuda_pipeline.h>

__global__ void reverse(int *out, const int *in)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &in[t], sizeof(int)); //~ data-race#1 write
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[t] = tile[63 - t]; //~ data-race#1 read, uninitialized-read read
}
