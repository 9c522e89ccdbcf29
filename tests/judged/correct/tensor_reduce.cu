// All blocks add their tiles to one box: each reduction of an element is atomic.
//
// flags: --grid 3 --block 64 --arg 0=tensor:i32[8,8]:box=8,8:zeros --arg 1=i32[192]:iota
// expect: clean

#include <cuda.h>
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void add(const __grid_constant__ CUtensorMap out, const int *in)
{
    __shared__ alignas(128) int tile[64];
    int t = threadIdx.x;
    tile[t] = in[64 * blockIdx.x + t];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (t == 0) {
        int at[2] = {0, 0};
        ptx::cp_reduce_async_bulk_tensor(ptx::space_global, ptx::space_shared, ptx::op_add, &out, at, tile);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}
