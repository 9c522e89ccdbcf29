// The same with a barrier of the block, while the values move from block to block.
//
// flags: --grid 3 --block 32 --arg 0=i32[96]:iota --arg 1=i32[96]:zeros
// expect: data-race

#include <cooperative_groups.h>

__global__ void rotate(int *from, int *to)
{
    auto block = cooperative_groups::this_thread_block();
    int i = blockIdx.x * 32 + threadIdx.x;
#pragma unroll 1
    for (int step = 0; step < 4; step++) {
        to[i] = from[(i + 31) % 96]; //~ data-race#1 read write
        block.sync();
        int *swapped = from;
        from = to;
        to = swapped;
    }
}
