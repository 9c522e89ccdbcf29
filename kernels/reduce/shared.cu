// One sum for each block, in shared memory. The host repeats the launch on the sums until one is left, from one
// buffer into another.

extern __shared__ float tile[];

/// Loads this block's part of `in`, zeros beyond its end.
__device__ void load(const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef BUG_NO_GUARD
    tile[threadIdx.x] = in[i]; //~ out-of-bounds read
#else
    tile[threadIdx.x] = i < n ? in[i] : 0; //~[output-is-input] data-race#1 read
#endif
    __syncthreads();
}

__device__ void store(float *out)
{
    if (threadIdx.x == 0)
        out[blockIdx.x] = tile[0]; //~[output-is-input] data-race#1 write
}

/// Interleaved pairs, found with the remainder. Any block size.
__global__ void reduce_remainder(float *out, const float *in, int n)
{
    int t = threadIdx.x;
    load(in, n);
    for (int stride = 1; stride < blockDim.x; stride *= 2) {
#ifdef BUG_GLOBAL_INDEX
        int i = blockIdx.x * blockDim.x + t; // as good as t only where 2 * stride divides the block size
        if (i % (2 * stride) == 0)
#else
        if (t % (2 * stride) == 0 && t + stride < blockDim.x)
#endif
            tile[t] += tile[t + stride]; //~[global-index] out-of-bounds read
        __syncthreads();
    }
    store(out);
}

/// Interleaved pairs, found with a bit mask. Any block size.
__global__ void reduce_mask(float *out, const float *in, int n)
{
    int t = threadIdx.x;
    load(in, n);
    for (int stride = 1; stride < blockDim.x; stride *= 2) {
        if ((t & (2 * stride - 1)) == 0 && t + stride < blockDim.x)
            tile[t] += tile[t + stride];
        __syncthreads();
    }
    store(out);
}

/// The upper half is added to the lower half: the working threads stay together, and whole warps fall idle.
/// The block size must be a power of two.
__global__ void reduce_halves(float *out, const float *in, int n)
{
    int t = threadIdx.x;
    load(in, n);
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride)
            tile[t] += tile[t + stride]; //~[no-barrier-in-loop] data-race#1 read write
#ifndef BUG_NO_BARRIER_IN_LOOP
        __syncthreads();
#endif
    }
    store(out);
}
