// Two buffers in global memory change roles at every step, with a barrier of the whole grid in between.
//
// flags: --grid 3 --block 32 --cooperative --arg 0=i32[96]:iota --arg 1=i32[96]:uninitialized
// expect: clean

#include <cooperative_groups.h>

__global__ void rotate(int *from, int *to)
{
    auto grid = cooperative_groups::this_grid();
    int i = grid.thread_rank();
    for (int step = 0; step < 4; step++) {
        to[i] = from[(i + 31) % 96];
        grid.sync();
        int *swapped = from;
        from = to;
        to = swapped;
    }
}
