// Boxes go back to where they came from. The last one lies half outside of the tensor: what is outside is filled with zeros and not stored.
//
// flags: --grid 3 --block 64 --arg 0=tensor:i32[40,32]:box=16,32:iota
// expect: clean

#include <cuda.h>
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void twice(const __grid_constant__ CUtensorMap data)
{
    __shared__ alignas(128) int tile[16 * 32];
    __shared__ uint64_t full;
    int t = threadIdx.x;
    int at[2] = {0, 16 * int(blockIdx.x)};
    if (t == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &data, at, &full);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof tile);
    }
    __syncthreads();
    while (!ptx::mbarrier_try_wait_parity(&full, 0)) {
    }
    for (int k = t; k < 16 * 32; k += 64)
        tile[k] *= 2;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (t == 0) {
        ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &data, at, tile);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}
