// Sums tiles that come by `cp.async` through two stages of shared memory: while one is used, the next one is copied.

#include <cuda_pipeline.h>

extern __shared__ int stages[];

__device__ void copy(const int *in, int tile, int tiles)
{
    int n = blockDim.x;
#ifdef BUG_LAST_NOT_AWAITED
    if (tile >= tiles)
        return;
#endif
    if (tile < tiles)
        __pipeline_memcpy_async(&stages[tile % 2 * n + threadIdx.x], &in[tile * n + threadIdx.x], sizeof(int)); //~[wait-too-many, last-not-awaited] async-copy-hazard#1 copy //~[wait-too-many] async-copy-hazard#2 copy //~[no-barrier, overwritten] data-race#1 write, async-copy-hazard#1 copy
    __pipeline_commit(); // where there is no tile any more, an empty group keeps the count right
}

__global__ void sum_tiles(int *out, const int *in, int tiles)
{
    int t = threadIdx.x;
    int n = blockDim.x;
    in += blockIdx.x * tiles * n;
    int sum = 0;
    copy(in, 0, tiles);
    for (int k = 0; k < tiles; k++) {
        copy(in, k + 1, tiles);
#ifdef BUG_WAIT_TOO_MANY
        __pipeline_wait_prior(2);
#else
        __pipeline_wait_prior(1);
#endif
#ifndef BUG_NO_BARRIER
        __syncthreads();
#endif
        sum = 3 * sum + stages[k % 2 * n + n - 1 - t]; //~[wait-too-many, last-not-awaited, no-barrier, overwritten] async-copy-hazard#1 read //~[no-barrier, overwritten] data-race#1 read //~[no-barrier] uninitialized-read
#ifndef BUG_OVERWRITTEN
        __syncthreads();
#endif
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
