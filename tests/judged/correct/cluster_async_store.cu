// Asynchronous stores into the neighbour's memory, which waits for their bytes.
//
// flags: --grid 4 --block 64 --arg 0=i32[256]:uninitialized --arg 1=i32[256]:iota
// expect: clean

#include <cooperative_groups.h>
#include <cuda/ptx>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

__global__ void __cluster_dims__(2, 1, 1) exchange(int *out, const int *in)
{
    __shared__ int theirs[64];
    __shared__ uint64_t full;
    auto cluster = cg::this_cluster();
    unsigned other = cluster.block_rank() ^ 1;
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (t == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof theirs);
    }
    cluster.sync();
    ptx::st_async(cluster.map_shared_rank(&theirs[t], other), in[i], cluster.map_shared_rank(&full, other));
    while (!ptx::mbarrier_try_wait_parity(&full, 0)) {
    }
    out[i] = theirs[t];
}
