// Sums of tiles of eight by shuffles of a tile; the first lane of each writes.
//
// flags: --grid 2 --block 64 --arg 0=i32[16]:uninitialized --arg 1=i32[128]:iota
// expect: clean

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

__global__ void sums(int *out, const int *in)
{
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = cg::reduce(tile, in[i], cg::plus<int>());
    if (tile.thread_rank() == 0)
        out[i / 8] = sum;
}
