// There are fewer pieces than lanes: the others repeat the last copy, from one place to one place.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:uninitialized --arg 1=i32[64]:iota
// expect: clean

#include <cuda_pipeline.h>

__global__ void reversed(int *out, const int *in)
{
    __shared__ int4 tile[2][8];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, piece = min(lane, 7);
    const int4 *from = reinterpret_cast<const int4 *>(in) + 8 * warp;
    __pipeline_memcpy_async(&tile[warp][piece], &from[piece], sizeof(int4));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncwarp();
    out[threadIdx.x] = reinterpret_cast<int *>(tile[warp])[31 - lane];
}
