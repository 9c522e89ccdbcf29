// One lane a bin adds for its group, but lanes of another warp hit the same bin.
//
// flags: --grid 1 --block 64 --arg 0=i32[8]:zeros --arg 1=u8[64]:random:0..=7
// expect: data-race

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void histogram(int *bins, const unsigned char *values)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    auto same = cg::labeled_partition(warp, values[threadIdx.x]);
    if (same.thread_rank() == 0)
        bins[values[threadIdx.x]] += same.size(); //~ data-race#1 read write, data-race#2 write
}
