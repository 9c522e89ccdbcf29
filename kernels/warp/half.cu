// The lower half of a warp works together, the upper half does not take part. The mask must name just the lanes that
// execute the operation.

#ifdef BUG_FULL_MASK
#define LOWER 0xffffffff
#else
#define LOWER 0x0000ffff
#endif

/// Neighbouring lanes of the lower half exchange their values through shared memory.
__global__ void half_syncwarp(int *out, const int *in)
{
    __shared__ int tile[16];
    int lane = threadIdx.x;
    if (lane < 16) {
        tile[lane] = in[lane];
        __syncwarp(LOWER); //~[syncwarp-full-mask] warp-sync-mask sync
        out[lane] = tile[lane ^ 1];
    } else {
        out[lane] = in[lane];
    }
}

/// Sum over the lower half; lane 0 has it.
__global__ void half_shuffle(int *out, const int *in)
{
    int lane = threadIdx.x;
    if (lane < 16) {
        int sum = in[lane];
        for (int d = 8; d > 0; d /= 2)
            sum += __shfl_down_sync(LOWER, sum, d, 16); //~[shuffle-full-mask] warp-sync-mask sync
        if (lane == 0)
            out[0] = sum;
    }
}

/// Which lanes of the lower half have a value other than zero.
__global__ void half_ballot(int *out, const int *in)
{
    int lane = threadIdx.x;
    if (lane < 16)
        out[lane] = __ballot_sync(LOWER, in[lane] != 0); //~[ballot-full-mask] warp-sync-mask sync
}
