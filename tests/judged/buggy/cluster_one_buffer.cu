// A row is passed on in one buffer: a neighbour may overwrite it before it has been read.
//
// flags: --grid 8 --block 32 --arg 0=i32[256]:uninitialized --arg 1=i32[256]:iota
// expect: data-race

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void __cluster_dims__(4, 1, 1) pass_on(int *out, const int *in)
{
    __shared__ int row[32];
    auto cluster = cg::this_cluster();
    int t = threadIdx.x, i = blockIdx.x * 32 + t, next = (cluster.block_rank() + 1) % cluster.num_blocks();
    row[t] = in[i];
    cluster.sync();
    int *there = cluster.map_shared_rank(row, next);
    int mine = row[t] + i; //~ data-race#1 read
    there[t] = mine;       //~ data-race#1 write
    cluster.sync();
    out[i] = row[t];
}
