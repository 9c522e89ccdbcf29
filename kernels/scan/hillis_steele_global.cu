// Inclusive prefix sum after Hillis and Steele, in global memory.
//
// In the step of distance d every element adds the one d places to its left; d doubles until it
// reaches n. All of a step must read what the step before has written, and nothing newer: either the
// host launches one kernel a step over two buffers that change roles, or the whole grid meets
// at a barrier after each step.

#include <cooperative_groups.h>

/// Adds the left neighbour at distance d. `out` and `in` must not be the same buffer.
__device__ void step(int *out, const int *in, int i, int n, int d)
{
    if (i >= n)
        return;
#ifdef BUG_FIRST_NOT_COPIED
    if (i < d)
        return; // the next step reads the other buffer, where these elements are now missing
#endif
    int sum = in[i];
    if (i >= d)
        sum += in[i - d]; //~[in-place] data-race#1 read //~[first-not-copied] uninitialized-read
    out[i] = sum;         //~[in-place] data-race#1 write
}

/// One step; the grid covers n with x alone.
__global__ void scan_step(int *out, const int *in, int n, int d)
{
    step(out, in, blockIdx.x * blockDim.x + threadIdx.x, n, d);
}

/// One step; a grid of x and y, for more blocks than x alone has room for.
__global__ void scan_step_2d(int *out, const int *in, int n, int d)
{
    int block = blockIdx.y * gridDim.x + blockIdx.x;
    step(out, in, block * blockDim.x + threadIdx.x, n, d);
}

/// All steps in one cooperative launch. Everybody publishes the own sum, waits, and takes the left neighbour's; since the two
/// buffers take turns, one barrier a step will do.
__global__ void scan_one_launch(int *out, const int *in, int *now, int *next, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = i < n ? in[i] : 0;
    for (int d = 1; d < n; d *= 2) {
        if (i < n)
            now[i] = sum; //~[block-barriers-only] data-race#1 write
#ifdef BUG_BLOCK_BARRIERS_ONLY
        __syncthreads(); // waits for this block, and the left neighbour may live in another
#else
        cooperative_groups::this_grid().sync();
#endif
        if (i < n && i >= d)
            sum += now[i - d]; //~[block-barriers-only] data-race#1 read, uninitialized-read
        int *swap = now;
        now = next;
        next = swap;
    }
    if (i < n)
        out[i] = sum;
}
