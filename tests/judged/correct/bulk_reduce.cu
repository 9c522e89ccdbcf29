// Blocks add their tiles to one place: each reduction of an element is atomic.
//
// flags: --grid 3 --block 64 --arg 0=i32[64]:zeros --arg 1=i32[192]:iota
// expect: clean

#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void add(int *out, const int *in)
{
    __shared__ alignas(16) int tile[64];
    int t = threadIdx.x;
    tile[t] = in[64 * blockIdx.x + t];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (t == 0) {
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, out, tile, sizeof tile);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}
