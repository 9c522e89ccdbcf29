// Sum of everything in one launch: each block adds up its part in shared memory, and one thread of it adds the
// block's sum to the total.

extern __shared__ int tile[];

/// The block size must be a power of two.
__global__ void reduce(int *total, const int *in, int n)
{
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    tile[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride)
            tile[t] += tile[t + stride];
        __syncthreads();
    }
    if (t == 0) {
#if defined(BUG_PLAIN_ADD)
        *total += tile[0]; //~ data-race#1 read write, data-race#2 write
#elif defined(BUG_BLOCK_SCOPE)
        atomicAdd_block(total, tile[0]); //~ insufficient-scope#3 atomic
#else
        atomicAdd(total, tile[0]);
#endif
    }
}
