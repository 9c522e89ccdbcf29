// A block's own barrier is taken for the cluster's: the neighbour may not have written yet.
//
// flags: --grid 4 --block 64 --arg 0=i32[256]:uninitialized --arg 1=i32[256]:iota
// expect: data-race

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void __cluster_dims__(2, 1, 1) exchange(int *out, const int *in)
{
    __shared__ int mine[64];
    auto cluster = cg::this_cluster();
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    mine[t] = 0;
    cluster.sync();
    mine[t] = in[i]; //~ data-race#1 write
    __syncthreads();
    int theirs = cluster.map_shared_rank(mine, cluster.block_rank() ^ 1)[t]; //~ data-race#1 read
    cluster.sync();
    out[i] = theirs;
}
