// The barrier orders the threads. Their writes and the tensor copy take different ways to memory.
//
// flags: --grid 1 --block 64 --arg 0=tensor:i32[8,32]:box=8,32:uninitialized
// expect: missing-proxy-fence

#include <cuda.h>
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void count(const __grid_constant__ CUtensorMap out)
{
    __shared__ alignas(128) int tile[8 * 32];
    int t = threadIdx.x;
    for (int k = t; k < 8 * 32; k += 64)
        tile[k] = k; //~ missing-proxy-fence#1 write
    __syncthreads();
    if (t == 0) {
        int at[2] = {0, 0};
        ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &out, at, tile); //~ missing-proxy-fence#1 copy
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}
