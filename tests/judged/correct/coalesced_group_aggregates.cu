// Threads that take a branch elect one of them to add for all (cooperative groups).
//
// flags: --grid 2 --block 64 --arg 0=i32[1]:zeros --arg 1=i32[128]:uninitialized --arg 2=i32[128]:iota
// expect: clean

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void filter(int *count, int *out, const int *in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = in[i];
    if (value % 3 == 0) {
        cg::coalesced_group group = cg::coalesced_threads();
        int first;
        if (group.thread_rank() == 0)
            first = atomicAdd(count, group.size());
        first = group.shfl(first, 0);
        out[first + group.thread_rank()] = value;
    }
}
