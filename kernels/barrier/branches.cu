// Two branches, each with a barrier of its own. Both are the same hardware barrier, so the threads are counted
// together and go on; but CUDA asks that all threads come to the same __syncthreads.

extern __shared__ int tile[];

/// Some threads put their value into the tile, the others its negative, and each reads its right neighbour's.
__device__ void exchange(int *out, const int *in, bool plus)
{
    int t = threadIdx.x;
    if (plus) {
        tile[t] = in[t];
#ifdef BUG_BARRIER_IN_BRANCHES
        __syncthreads(); //~ divergent-barrier#1 wait
#endif
    } else {
        tile[t] = -in[t];
#ifdef BUG_BARRIER_IN_BRANCHES
        __syncthreads(); //~ divergent-barrier#1 wait
#endif
    }
#ifndef BUG_BARRIER_IN_BRANCHES
    __syncthreads();
#endif
    out[t] = tile[(t + 1) % blockDim.x];
}

/// The branches part at a warp boundary if the block is a multiple of 64.
__global__ void half_blocks(int *out, const int *in)
{
    exchange(out, in, threadIdx.x < blockDim.x / 2);
}

/// The branches part neighbouring lanes.
__global__ void odd_and_even(int *out, const int *in)
{
    exchange(out, in, threadIdx.x % 2 == 0);
}
