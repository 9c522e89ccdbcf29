// Blocks of a cluster pass a row on to their neighbours, step by step, in two buffers.
//
// flags: --grid 8 --block 32 --arg 0=i32[256]:uninitialized --arg 1=i32[256]:iota --arg 2=3
// expect: clean

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void __cluster_dims__(4, 1, 1) pass_on(int *out, const int *in, int steps)
{
    __shared__ int row[2][32];
    auto cluster = cg::this_cluster();
    int t = threadIdx.x, next = (cluster.block_rank() + 1) % cluster.num_blocks();
    row[0][t] = in[blockIdx.x * 32 + t];
    cluster.sync();
    for (int k = 0; k < steps; k++) {
        int *there = cluster.map_shared_rank(row[(k + 1) % 2], next);
        there[t] = row[k % 2][t];
        cluster.sync();
    }
    out[blockIdx.x * 32 + t] = row[steps % 2][t];
}
