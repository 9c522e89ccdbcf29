// The wait leaves the newest group out, which is the one that reads the tile.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:uninitialized --arg 1=i32[64]:iota
// expect: async-copy-hazard

#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void scale(int *out, const int *in)
{
    __shared__ alignas(16) int tile[64];
    int t = threadIdx.x;
    tile[t] = 3 * in[t];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (t == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, tile, sizeof tile); //~ async-copy-hazard#1 copy
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<1>());
    }
    __syncthreads();
    tile[t] = 0; //~ async-copy-hazard#1 write
    if (t == 0)
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
}
