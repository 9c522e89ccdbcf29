// Inclusive prefix sum of up to 1,024 elements in shared memory, after Hillis and Steele: one
// block, one thread an element.
//
// One array serves for reading and writing, so each step has two halves with a barrier behind
// each: everybody fetches the left neighbour into a register, then everybody adds.

#ifdef BUG_FLOAT_TILE
typedef float Element; // 24 bits of mantissa: integers above 2^24 are rounded
#else
typedef int Element;
#endif

extern __shared__ Element tile[];

__global__ void scan(int *out, const int *in, int n)
{
    int t = threadIdx.x;

    tile[t] = t < n ? in[t] : 0; //~[no-barrier-after-load, no-barriers] data-race#1 write
#ifndef BUG_NO_BARRIER_AFTER_LOAD
    __syncthreads();
#endif

    for (int d = 1; d < blockDim.x; d *= 2) {
        Element left = 0;
        if (t >= d)
            left = tile[t - d]; //~[no-barrier-after-load, no-barriers] data-race#1 read, uninitialized-read //~[no-barrier-after-read, no-barrier-after-write, no-barriers] data-race#2 read
#ifndef BUG_NO_BARRIER_AFTER_READ
        __syncthreads();
#endif
        tile[t] += left; //~[no-barrier-after-read, no-barrier-after-write, no-barriers] data-race#2 write //~[float-tile] wrong-result
#ifndef BUG_NO_BARRIER_AFTER_WRITE
        __syncthreads();
#endif
    }

    if (t < n)
        out[t] = tile[t];
}
