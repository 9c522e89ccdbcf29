// Shuffles: lanes of a warp read each other's registers.

#define FULL 0xffffffff

/// From `delta` lanes below; the lowest lanes keep their own value.
__global__ void shuffle_up(int *out, const int *in, int delta)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = __shfl_up_sync(FULL, in[i], delta);
}

/// From `delta` lanes above; the highest lanes keep their own value.
__global__ void shuffle_down(int *out, const int *in, int delta)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = __shfl_down_sync(FULL, in[i], delta);
}

/// One lane's value for all lanes of its warp.
__global__ void broadcast(int *out, const int *in, int lane)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef BUG_LANES_OUTSIDE_MASK
    unsigned mask = 0x0000ffff; // the upper lanes execute the shuffle too, and are not in it
#else
    unsigned mask = FULL;
#endif
    out[i] = __shfl_sync(mask, in[i], lane); //~[lanes-outside-mask] warp-sync-mask sync
}
