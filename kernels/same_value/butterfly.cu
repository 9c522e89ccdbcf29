// One sum a warp. After a butterfly of shuffles all lanes have it, after a tree of shuffles only lane 0.

__global__ void sum_warps(int *out, const int *in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = in[i];
    for (int delta = 16; delta > 0; delta /= 2)
#ifdef BUG_TREE
        sum += __shfl_down_sync(0xffffffff, sum, delta);
#else
        sum += __shfl_xor_sync(0xffffffff, sum, delta);
#endif
#if !defined(BUG_ALL_LANES) && !defined(BUG_TREE)
    if (threadIdx.x % 32 == 0)
#endif
        out[i / 32] = sum; //~[all-lanes] same-value-write#1 write //~[tree] data-race#1 write
}

/// The same by one thread.
__global__ void sum_warps_reference(int *out, const int *in, int warps)
{
    for (int w = 0; w < warps; w++) {
        out[w] = 0;
        for (int lane = 0; lane < 32; lane++)
            out[w] += in[32 * w + lane];
    }
}
