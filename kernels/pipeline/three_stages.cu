// Sums tiles that come by `cp.async` through three stages of shared memory. One barrier a tile is enough: whoever has passed it knows that
// its tile is there, and that nobody uses the tile before it any more, into whose place the next copy goes.

#include <cuda_pipeline.h>

extern __shared__ int stages[];

__device__ void copy(const int *in, int tile, int tiles)
{
    int n = blockDim.x;
    if (tile < tiles)
        __pipeline_memcpy_async(&stages[tile % 3 * n + threadIdx.x], &in[tile * n + threadIdx.x], sizeof(int)); //~[three-wait-too-many] async-copy-hazard#1 copy //~[three-overwritten] data-race#1 write, async-copy-hazard#1 copy
    __pipeline_commit();
}

__global__ void sum_tiles(int *out, const int *in, int tiles)
{
    int t = threadIdx.x;
    int n = blockDim.x;
    in += blockIdx.x * tiles * n;
    int sum = 0;
    copy(in, 0, tiles);
    copy(in, 1, tiles);
    for (int k = 0; k < tiles; k++) {
#ifdef BUG_OVERWRITTEN
        copy(in, k + 2, tiles); // some may still read the tile before
        __pipeline_wait_prior(2);
        __syncthreads();
#else
#ifdef BUG_WAIT_TOO_MANY
        __pipeline_wait_prior(2);
#else
        __pipeline_wait_prior(1);
#endif
        __syncthreads();
        copy(in, k + 2, tiles);
#endif
        sum = 3 * sum + stages[k % 3 * n + n - 1 - t]; //~[three-wait-too-many] async-copy-hazard#1 read //~[three-overwritten] data-race#1 read, async-copy-hazard#1 read
    }
    out[blockIdx.x * n + t] = sum;
}

/// The same by one thread.
__global__ void sum_tiles_reference(int *out, const int *in, int tiles, int blocks, int threads)
{
    for (int i = 0; i < blocks * threads; i++) {
        int sum = 0;
        for (int k = 0; k < tiles; k++)
            sum = 3 * sum + in[(i / threads * tiles + k) * threads + threads - 1 - i % threads];
        out[i] = sum;
    }
}
