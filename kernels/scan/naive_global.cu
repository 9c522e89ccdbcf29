// Inclusive prefix sum in global memory by one block, after Hillis and Steele: one thread an element, all steps in one
// launch, two buffers that change roles after each.
//
// A step reads one buffer and writes the other, so one barrier a step will do. It is a block barrier: it orders
// the steps of one block, and no more.

#ifndef BUG_SWAP_UNDECLARED
#ifdef BUG_SWAP_BY_VALUE
__device__ void trade(int *a, int *b) // trades its own copies, and the caller's pointers stay as they are
#else
__device__ void trade(int *&a, int *&b)
#endif
{
    int *c = a;
    a = b;
    b = c;
}
#endif

/// `now` holds the data at the start.
__global__ void scan(int *out, int *now, int *next, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    for (int d = 1; d < n; d *= 2) {
#ifdef BUG_FIRST_LEFT_OUT
        bool mine = i >= d && i < n; // the others are complete already, but the next step looks for them in `next`
#else
        bool mine = i < n;
#endif
        if (mine)
            next[i] = now[i] + (i >= d ? now[i - d] : 0); //~[first-left-out] uninitialized-read //~[several-blocks] data-race#1 read write, uninitialized-read
        __syncthreads();
        trade(now, next); //~[swap-undeclared] compile-error //~[swap-by-value, as-printed] wrong-result
    }

    if (i < n)
        out[i] = now[i]; //~[first-left-out] uninitialized-read
}
