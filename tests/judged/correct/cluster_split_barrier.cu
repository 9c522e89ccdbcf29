// Threads arrive at the cluster's barrier, do something of their own, and wait.
//
// flags: --grid 4 --block 64 --arg 0=i32[256]:uninitialized --arg 1=i32[256]:iota
// expect: clean

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void __cluster_dims__(2, 1, 1) exchange(int *out, const int *in)
{
    __shared__ int mine[64];
    auto cluster = cg::this_cluster();
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    mine[t] = in[i];
    auto token = cluster.barrier_arrive();
    int own = in[i] * 3;
    cluster.barrier_wait(std::move(token));
    int theirs = cluster.map_shared_rank(mine, cluster.block_rank() ^ 1)[t];
    // Nobody goes before all have read.
    auto last = cluster.barrier_arrive();
    out[i] = own + theirs;
    cluster.barrier_wait(std::move(last));
}
