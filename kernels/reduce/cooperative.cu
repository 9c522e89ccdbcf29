// Sum over a cooperative group, whatever group it is: a block, or a part of one. Threads of the upper half leave their value in
// the scratch, those of the lower half pick it up; then the lower half is the group's next round.

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

/// Sum of the group's values, of which there are a power of two; its thread 0 gets it. `scratch` has a word for each
/// thread of the group, and no other group may use it meanwhile.
#ifdef BUG_GROUP_UNDECLARED
__device__ int sum(cg::thread_group all, int *scratch, int value) // and below it goes by another name
#else
__device__ int sum(cg::thread_group group, int *scratch, int value)
#endif
{
    int rank = group.thread_rank(); //~[group-undeclared] compile-error
    for (int half = group.size() / 2; half > 0; half /= 2) {
        scratch[rank] = value; //~[no-sync-after-store, no-sync-after-load, one-scratch] data-race#1 write //~[one-scratch] data-race#2 write
#ifndef BUG_NO_SYNC_AFTER_STORE
        group.sync();
#endif
        if (rank < half)
            value += scratch[rank + half]; //~[no-sync-after-store, no-sync-after-load, one-scratch] data-race#1 read //~[no-sync-after-store] uninitialized-read
#ifndef BUG_NO_SYNC_AFTER_LOAD
        group.sync();
#endif
    }
    return value;
}

extern __shared__ int scratch[];

/// The whole block is the group.
__global__ void sum_blocks(int *out, const int *in)
{
    cg::thread_block block = cg::this_thread_block();
    int total = sum(block, scratch, in[blockIdx.x * blockDim.x + block.thread_rank()]);
    if (block.thread_rank() == 0)
        out[blockIdx.x] = total;
}

/// Every 16 threads of the block are a group.
__global__ void sum_parts(int *out, const int *in)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_group part = cg::tiled_partition(block, 16);
    int number = block.thread_rank() / part.size();
#ifdef BUG_ONE_SCRATCH
    int *own = scratch; // for the group, believes who thinks of one group a block
#else
    int *own = scratch + number * part.size();
#endif
    int total = sum(part, own, in[blockIdx.x * blockDim.x + block.thread_rank()]);
    if (part.thread_rank() == 0)
        out[(blockIdx.x * blockDim.x) / part.size() + number] = total;
}
