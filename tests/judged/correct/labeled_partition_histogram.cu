// A warp is partitioned by the bin that each lane hits; one lane a bin adds its group's size.
//
// flags: --grid 1 --block 64 --arg 0=i32[8]:zeros --arg 1=u8[64]:random:0..=7
// expect: clean

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void histogram(int *bins, const unsigned char *values)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    auto same = cg::labeled_partition(warp, values[threadIdx.x]);
    if (same.thread_rank() == 0)
        atomicAdd(&bins[values[threadIdx.x]], same.size());
}
