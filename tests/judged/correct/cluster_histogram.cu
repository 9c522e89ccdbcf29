// Each block of a cluster keeps a part of the bins in its shared memory, and all blocks count into them.
//
// flags: --grid 4 --block 64 --arg 0=i32[64]:zeros --arg 1=i32[256]:random:0..=31 --arg 2=256
// expect: clean

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

constexpr int BINS = 32;

__global__ void __cluster_dims__(2, 1, 1) histogram(int *bins, const int *in, int n)
{
    __shared__ int part[BINS / 2];
    auto cluster = cg::this_cluster();
    int t = threadIdx.x;
    if (t < BINS / 2)
        part[t] = 0;
    cluster.sync();
    int i = blockIdx.x * blockDim.x + t;
    if (i < n) {
        int bin = in[i];
        int *there = cluster.map_shared_rank(part, bin / (BINS / 2));
        atomicAdd(there + bin % (BINS / 2), 1);
    }
    cluster.sync();
    // A result for each cluster.
    int *own = bins + blockIdx.x / 2 * BINS + cluster.block_rank() * (BINS / 2);
    if (t < BINS / 2)
        own[t] = part[t];
}
