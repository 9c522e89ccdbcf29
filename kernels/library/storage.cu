// A sum over the block, written as libraries write theirs: the caller hands over shared memory, and may use it again only behind a
// barrier, for at the end of the call some threads still read it.

constexpr int WARPS = 8;

struct Storage {
    int sums[WARPS];
};

/// Sum of all threads' values, of at most eight whole warps, for every thread.
__device__ int block_sum(Storage &storage, int value)
{
    for (int delta = 16; delta > 0; delta /= 2)
        value += __shfl_xor_sync(0xffffffff, value, delta);
    if (threadIdx.x % 32 == 0)
        storage.sums[threadIdx.x / 32] = value; //~[reused] data-race#1 write
    __syncthreads();
    int sum = 0;
    for (int w = 0; w < blockDim.x / 32; w++)
        sum += storage.sums[w]; //~[reused] data-race#1 read
    return sum;
}

/// The sum of the values, and the sum of their distances from the mean.
__global__ void spread(int *out, const int *in)
{
    __shared__ Storage storage;
    int value = in[blockIdx.x * blockDim.x + threadIdx.x];
    int sum = block_sum(storage, value);
#ifndef BUG_REUSED
    __syncthreads();
#endif
    int distance = abs(value - sum / int(blockDim.x));
    int distances = block_sum(storage, distance);
    if (threadIdx.x == 0) {
        out[2 * blockIdx.x] = sum;
        out[2 * blockIdx.x + 1] = distances;
    }
}

/// The same by one thread.
__global__ void spread_reference(int *out, const int *in, int blocks, int threads)
{
    for (int b = 0; b < blocks; b++) {
        int sum = 0;
        for (int t = 0; t < threads; t++)
            sum += in[b * threads + t];
        int distances = 0;
        for (int t = 0; t < threads; t++)
            distances += abs(in[b * threads + t] - sum / threads);
        out[2 * b] = sum;
        out[2 * b + 1] = distances;
    }
}
