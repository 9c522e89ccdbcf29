// One sum for each block, with the last six steps, which a single warp can do, taken out of the loop of block
// barriers. The block size is a power of two, 64 at least.

extern __shared__ int tile[];

/// Adds up until 64 values are left, in tile[0 .. 64].
__device__ void reduce_to_64(const int *in)
{
    int t = threadIdx.x;
    tile[t] = in[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 32; stride /= 2) {
        if (t < stride)
            tile[t] += tile[t + stride];
        __syncthreads();
    }
}

/// The last steps with a warp barrier after each read and each write.
__global__ void reduce_syncwarp(int *out, const int *in)
{
    reduce_to_64(in);
    int t = threadIdx.x;
    if (t < 32) {
        int sum = tile[t];
        for (int stride = 32; stride > 0; stride /= 2) {
            sum += tile[t + stride];
            __syncwarp();
            tile[t] = sum;
            __syncwarp();
        }
        if (t == 0)
            out[blockIdx.x] = sum;
    }
}

/// The last steps by shuffles.
__global__ void reduce_shuffle(int *out, const int *in)
{
    reduce_to_64(in);
    int t = threadIdx.x;
    if (t < 32) {
        int sum = tile[t] + tile[t + 32];
        for (int delta = 16; delta > 0; delta /= 2)
            sum += __shfl_down_sync(0xffffffff, sum, delta);
        if (t == 0)
            out[blockIdx.x] = sum;
    }
}

#ifdef BUG_PLAIN_POINTER
typedef int Word; // the compiler keeps the sum in a register
#else
typedef volatile int Word; // every access happens, but nothing makes the lanes take turns
#endif

/// The last steps as they were written when warps ran in lockstep.
__global__ void reduce_lockstep(int *out, const int *in)
{
    reduce_to_64(in);
    int t = threadIdx.x;
    if (t < 32) {
        Word *word = tile + t;
#pragma unroll
        for (int stride = 32; stride > 0; stride /= 2)
            word[0] += word[stride]; //~[plain-pointer] data-race#1 read write //~[volatile] lockstep-assumption#1 read write
        if (t == 0)
            out[blockIdx.x] = tile[0];
    }
}
