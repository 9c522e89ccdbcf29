// Each block of a cluster loads a half of a tile, for both blocks.
//
// flags: --grid 4 --block 64 --arg 0=i32[256]:uninitialized --arg 1=i32[128]:iota
// expect: clean

#include <cooperative_groups.h>
#include <cuda/ptx>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

// For both blocks: `cuda::ptx` has it for sm_90a alone.
__device__ void copy(int *to, const int *from, unsigned bytes, uint64_t *full)
{
    unsigned there = __cvta_generic_to_shared(to), arrives = __cvta_generic_to_shared(full);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;"
                 :: "r"(there), "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(arrives), "h"((unsigned short)3) : "memory");
}

__global__ void __cluster_dims__(2, 1, 1) reverse(int *out, const int *in)
{
    __shared__ alignas(16) int tile[64];
    __shared__ uint64_t full;
    auto cluster = cg::this_cluster();
    int t = threadIdx.x, half = 32 * cluster.block_rank();
    if (t == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    cluster.sync();
    if (t == 0) {
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof tile);
        copy(tile + half, in + blockIdx.x / 2 * 64 + half, sizeof tile / 2, &full);
    }
    while (!ptx::mbarrier_try_wait_parity(&full, 0)) {
    }
    out[blockIdx.x * 64 + t] = tile[63 - t];
}
