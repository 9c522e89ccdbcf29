// A helper with a barrier, called with the block as a group: for the whole block.

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

/// Sum of x[0 .. count], in place; count is a power of two.
__device__ int sum(cg::thread_block block, int *x, int count)
{
    int rank = block.thread_rank();
    for (int half = count / 2; half > 0; half /= 2) {
        if (rank < half)
            x[rank] += x[rank + half];
        block.sync();
    }
    return x[0];
}

#ifdef BUG_OTHER_TYPES
__global__ void sum_block(int *out, float *x, int n)
{
    int total = sum(cg::this_thread_block(), x, count); //~ compile-error
#else
__global__ void sum_block(int *out, int *x, int n)
{
    int total = sum(cg::this_thread_block(), x, n);
#endif
    if (threadIdx.x == 0)
        *out = total;
}
