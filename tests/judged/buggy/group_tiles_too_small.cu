// The tiles synchronise eight threads, but the exchange is among sixteen.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota
// expect: data-race, uninitialized-read

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void tiles(int *data)
{
    __shared__ int tile[64];
    auto group = cg::tiled_partition<8>(cg::this_thread_block());
    int t = threadIdx.x;
    tile[t] = data[t]; //~ data-race#1 write
    group.sync();
    data[t] = tile[t ^ 15]; //~ data-race#1 read, uninitialized-read
}
