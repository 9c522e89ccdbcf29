// A block writes into its neighbour's shared memory before anything says that the neighbour has begun.
//
// flags: --grid 4 --block 64 --arg 0=i32[256]:uninitialized --arg 1=i32[256]:iota
// expect: cluster-memory

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void __cluster_dims__(2, 1, 1) exchange(int *out, const int *in)
{
    __shared__ int theirs[64];
    auto cluster = cg::this_cluster();
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    cluster.map_shared_rank(theirs, cluster.block_rank() ^ 1)[t] = in[i]; //~ cluster-memory write
    cluster.sync();
    out[i] = theirs[t];
}
