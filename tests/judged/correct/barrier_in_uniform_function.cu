// A function with barriers that is not inlined, called from two places by the whole block.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota
// expect: clean

__device__ __noinline__ int sum(int *tile, int value)
{
    int t = threadIdx.x;
    tile[t] = value;
    for (int stride = 32; stride > 0; stride /= 2) {
        __syncthreads();
        if (t < stride)
            tile[t] += tile[t + stride];
    }
    __syncthreads();
    int all = tile[0];
    __syncthreads();
    return all;
}

__global__ void center(int *data)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    int value = data[t];
    int mean = sum(tile, value) / 64;
    int spread = sum(tile, abs(value - mean));
    data[t] = value - mean + (spread > 1000 ? sum(tile, value) : 0);
}
