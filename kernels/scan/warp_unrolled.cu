// Inclusive prefix sum of 32 elements by one warp, its five steps written out. `data` points to the lane's own word in the lower
// half of a scratch of 64 words, which is zero, so that each lane finds something up to 16 places to its left.

__device__ int scan_warp(int *data, int value);

/// One warp.
__global__ void scan(int *out, const int *in)
{
    __shared__ int scratch[64];
    int lane = threadIdx.x;
    out[lane] = scan_warp(scratch + lane, in[lane]);
}

#ifndef BUG_AS_PRINTED
#define WARP_SIZE 32
#endif

/// Leaves the lane's sum for the others, and adds the one that lies `distance` to its left.
#define STEP(distance)          \
    __syncwarp();               \
    value += data[WARP_SIZE - distance]; \
    __syncwarp();               \
    data[WARP_SIZE] = value;

__device__ int scan_warp(int *data, int value)
{
    data[0] = 0;
    data[WARP_SIZE] = value; //~[as-printed] compile-error
    STEP(1)
    STEP(2)
    STEP(4)
    STEP(8)
    STEP(16)
    return value;
#ifndef BUG_AS_PRINTED
}
#endif
