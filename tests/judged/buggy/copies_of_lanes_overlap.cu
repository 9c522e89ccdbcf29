// The lanes without a piece of their own copy to the last place, each from elsewhere.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:uninitialized --arg 1=i32[128]:iota
// expect: data-race

#include <cuda_pipeline.h>

__global__ void reversed(int *out, const int *in)
{
    __shared__ int4 tile[8];
    int lane = threadIdx.x, piece = min(lane, 7);
    const int4 *from = reinterpret_cast<const int4 *>(in);
    __pipeline_memcpy_async(&tile[piece], &from[lane], sizeof(int4)); //~ data-race write
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncwarp();
    out[lane] = reinterpret_cast<int *>(tile)[31 - lane];
}
