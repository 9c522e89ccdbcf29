// The swizzle puts each column into other banks; threads find their elements by the same exclusive or.
//
// flags: --grid 2 --block 128 --arg 0=i32[2048]:uninitialized --arg 1=tensor:i32[32,64]:box=32,32:swizzle=128B:iota
// expect: clean

#include <cuda.h>
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__device__ int place(int row, int column)
{
    return row * 32 + ((column / 4 ^ row % 8) * 4 | column % 4);
}

__global__ void transpose(int *out, const __grid_constant__ CUtensorMap in)
{
    __shared__ alignas(1024) int tile[32 * 32];
    __shared__ uint64_t full;
    int t = threadIdx.x;
    int column = 32 * blockIdx.x;
    if (t == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    if (t == 0) {
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof tile);
        int at[2] = {column, 0};
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &in, at, &full);
    }
    while (!ptx::mbarrier_try_wait_parity(&full, 0)) {
    }
    // Were an element in another place, some thread would trap.
    for (int k = t; k < 32 * 32; k += 128) {
        int value = tile[place(k % 32, k / 32)];
        if (value != k % 32 * 64 + column + k / 32)
            __trap();
        out[(column + k / 32) * 32 + k % 32] = value;
    }
}
