// Tiles of eight threads exchange values through shared memory and by shuffles, each at its own pace.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota
// expect: clean

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void tiles(int *data)
{
    __shared__ int tile[64];
    auto group = cg::tiled_partition<8>(cg::this_thread_block());
    int *part = tile + group.meta_group_rank() * 8;
    int rank = group.thread_rank();
    int value = data[threadIdx.x];
    for (int round = 0; round < 1 + int(group.meta_group_rank()) % 3; round++) {
        part[rank] = value;
        group.sync();
        value = part[7 - rank] + group.shfl_up(value, 1);
        group.sync();
    }
    data[threadIdx.x] = value;
}
