// The lanes that happen to be together take a range of the output by one atomic for all of them.
//
// flags: --grid 2 --block 64 --arg 0=i32[128]:uninitialized --arg 1=i32[1]:zeros --arg 2=i32[128]:random:0..=9
// expect: clean

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void keep_large(int *out, int *count, const int *in)
{
    int value = in[blockIdx.x * blockDim.x + threadIdx.x];
    if (value > 4) {
        cg::coalesced_group together = cg::coalesced_threads();
        int first = 0;
        if (together.thread_rank() == 0)
            first = atomicAdd(count, together.size());
        out[together.shfl(first, 0) + together.thread_rank()] = value;
    }
}
