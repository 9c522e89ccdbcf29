// Inclusive prefix sum in shared memory after Hillis and Steele, with a tile of fixed size: one block of as many threads.

#ifndef BUG_TILE_UNDEFINED
#define TILE 256
#endif

__global__ void scan(int *data, int steps)
{
    __shared__ int tile[TILE]; //~[tile-undefined] compile-error
    unsigned t = threadIdx.x;
    tile[t] = data[t];
    __syncthreads();

    unsigned d = 1;
    for (int step = 0; step < steps; step++) {
        int left = t >= d ? tile[t - d] : 0;
        __syncthreads();
        tile[t] += left;
        __syncthreads();
        d *= 2;
    }
    data[t] = tile[t];
}
