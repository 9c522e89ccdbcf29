// A named barrier for some of a block's warps.

/// The first `n` threads reverse their elements; a third warp has nothing to do with it.
__global__ void reverse_first(int *out, const int *in, int n)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
#ifdef BUG_COUNT_OF_THREADS
    int count = n;
#else
    int count = (n + 31) / 32 * 32;
#endif
    if (t < 64) {
        if (t < n)
            tile[t] = in[t];
        asm volatile("bar.sync 1, %0;" ::"r"(count) : "memory"); //~[count-of-threads] invalid-barrier wait
        if (t < n)
            out[t] = tile[n - 1 - t];
    }
}
