// A block writes into its neighbour's memory and arrives at its neighbour's mbarrier.
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
        ptx::mbarrier_init(&full, 64);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    cluster.sync();
    cluster.map_shared_rank(theirs, other)[t] = in[i];
    ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, cluster.map_shared_rank(&full, other));
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &full, 0)) {
    }
    out[i] = theirs[t];
}
