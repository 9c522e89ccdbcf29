// A block barrier is for the whole block. Here half of the threads come to it, and what happens depends on
// what the others do meanwhile.

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern __shared__ int tile[];

/// The first half of the block loads, all threads read.
__global__ void half_loads(int *out, const int *in)
{
    int t = threadIdx.x;
    int half = blockDim.x / 2;
    if (t < half) {
        tile[t] = in[t]; //~[inside-condition] data-race#1 write
#ifdef BUG_BARRIER_INSIDE
        __syncthreads(); //~ divergent-barrier#1 wait
#endif
    }
#ifndef BUG_BARRIER_INSIDE
    __syncthreads();
#endif
    out[t] = tile[t % half]; //~[inside-condition] data-race#1 read, uninitialized-read, divergent-barrier#1 pass
}

/// Sum of tile[0 .. count], a power of two; whoever calls it, the whole block must.
__device__ int sum(int count)
{
    int t = threadIdx.x;
    for (int stride = count / 2; stride > 0; stride /= 2) {
        if (t < stride)
            tile[t] += tile[t + stride];
        __syncthreads(); //~[half-calls-helper] divergent-barrier#2 wait //~[half-calls-helper-rest-exits] barrier-after-exit wait
    }
    return tile[0];
}

/// Sums the first half of the input; every thread stores something afterwards.
__global__ void helper_then_all_store(int *out, const int *in)
{
    int t = threadIdx.x;
    int half = blockDim.x / 2;
    tile[t] = in[t];
    __syncthreads();
    int total = 0;
#ifdef BUG_HALF_CALLS_HELPER
    if (t < half)
#endif
        total = sum(half);
    out[t] = t < half ? total : in[t]; //~[half-calls-helper] divergent-barrier#2 pass
}

/// Sums the first half of the input; the threads of the other half have nothing more to do.
__global__ void helper_then_exit(int *out, const int *in)
{
    int t = threadIdx.x;
    int half = blockDim.x / 2;
    tile[t] = in[t];
    __syncthreads();
#ifdef BUG_HALF_CALLS_HELPER
    if (t < half)
#endif
    {
        int total = sum(half);
        if (t == 0)
            out[0] = total;
    }
}

/// The same sum with the group as a parameter: who calls it sees whom it waits for.
__device__ int sum(cg::thread_block group, int count)
{
    int t = group.thread_rank();
    for (int stride = count / 2; stride > 0; stride /= 2) {
        if (t < stride)
            tile[t] += tile[t + stride];
        group.sync();
    }
    return tile[0];
}

__global__ void group_passed_down(int *out, const int *in)
{
    cg::thread_block block = cg::this_thread_block();
    int t = block.thread_rank();
    tile[t] = in[t];
    block.sync();
    int total = sum(block, block.size() / 2);
    if (t == 0)
        out[0] = total;
}
