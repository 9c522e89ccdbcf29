// Blocks load boxes of a matrix, and each thread waits for the phase.
//
// flags: --grid 4 --block 64 --arg 0=i32[4096]:uninitialized --arg 1=tensor:i32[64,64]:box=32,32:iota
// expect: clean

#include <cuda.h>
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void transpose(int *out, const __grid_constant__ CUtensorMap in)
{
    __shared__ alignas(128) int tile[32][32];
    __shared__ uint64_t full;
    int t = threadIdx.x;
    int column = 32 * (blockIdx.x % 2), row = 32 * (blockIdx.x / 2);
    if (t == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    if (t == 0) {
        int at[2] = {column, row};
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &in, at, &full);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof tile);
    }
    while (!ptx::mbarrier_try_wait_parity(&full, 0)) {
    }
    for (int k = t; k < 32 * 32; k += 64)
        out[(column + k / 32) * 64 + row + k % 32] = tile[k % 32][k / 32];
}
