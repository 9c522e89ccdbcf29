// Sums by shuffles, with no memory between the lanes: of a whole warp, and of 16 lanes at a time.

/// Lane 0 of each warp stores the sum of 32 values.
__global__ void reduce_warp(int *out, const int *in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = in[i];
    for (int delta = 16; delta > 0; delta /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, delta);
    if (i % 32 == 0)
        out[i / 32] = sum;
}

/// The first lane of each half-warp stores the sum of 16 values. All lanes take part, in two groups.
__global__ void reduce_width_16(int *out, const int *in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = in[i];
    for (int delta = 8; delta > 0; delta /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, delta, 16);
    if (i % 16 == 0)
        out[i / 16] = sum;
}

/// Only the lower half of each warp adds up its 16 values.
__global__ void reduce_lower_half(int *out, const int *in)
{
#ifdef BUG_FULL_MASK
    unsigned mask = 0xffffffff; // names the upper half, which never comes here
#else
    unsigned mask = 0x0000ffff;
#endif
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % 32 < 16) {
        int sum = in[i];
        for (int delta = 8; delta > 0; delta /= 2)
            sum += __shfl_down_sync(mask, sum, delta, 16); //~[full-mask-in-half] warp-sync-mask sync
        if (i % 32 == 0)
            out[i / 32] = sum;
    }
}
