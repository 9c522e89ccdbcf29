// Boxes are 16 rows apart and have 24: neighbours store the same rows.
//
// flags: --grid 2 --block 64 --arg 0=tensor:i32[40,16]:box=24,16:uninitialized
// expect: data-race

#include <cuda.h>
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void count(const __grid_constant__ CUtensorMap out)
{
    __shared__ alignas(128) int tile[24 * 16];
    int t = threadIdx.x;
    for (int k = t; k < 24 * 16; k += 64)
        tile[k] = 256 * blockIdx.x + k;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (t == 0) {
        int at[2] = {0, 16 * int(blockIdx.x)};
        ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &out, at, tile); //~ data-race#1 write
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}
