// Tiles of several warps meet, and exchange what each warp has, in shared memory that the system reserves.
//
// flags: --grid 1 --block 256 --arg 0=i32[256]:iota
// expect: clean

#include <cassert>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void sums(const int *in)
{
    __shared__ cg::block_tile_memory<256> memory;
    auto tile = cg::tiled_partition<64>(cg::this_thread_block(memory));
    int first = threadIdx.x / 64 * 64;
    for (int round = 1; round <= 2; ++round) {
        int sum = cg::reduce(tile, in[threadIdx.x] * round, cg::plus<int>());
        assert(sum == (64 * first + 63 * 32) * round);
    }
}
