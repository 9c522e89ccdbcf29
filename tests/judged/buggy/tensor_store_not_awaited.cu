// The block ends while the tensor copy may still read its tile.
//
// flags: --grid 2 --block 64 --arg 0=tensor:i32[16,32]:box=8,32:uninitialized
// expect: async-copy-hazard

#include <cuda.h>
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void count(const __grid_constant__ CUtensorMap out)
{
    __shared__ alignas(128) int tile[8 * 32];
    int t = threadIdx.x;
    for (int k = t; k < 8 * 32; k += 64)
        tile[k] = 256 * blockIdx.x + k;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (t == 0) {
        int at[2] = {0, 8 * int(blockIdx.x)};
        ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &out, at, tile); //~ async-copy-hazard#1 copy
        ptx::cp_async_bulk_commit_group();
    }
} //~ async-copy-hazard#1 exit
