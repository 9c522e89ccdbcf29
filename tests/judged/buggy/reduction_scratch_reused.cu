// A sum over the block that forgets to protect its scratch: a thread may be in the second call, and overwrite
// what another has still to read in the first.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota
// expect: data-race

__device__ __noinline__ int sum(int *tile, int value)
{
    int t = threadIdx.x;
    tile[t] = value; //~ data-race#1 write
    for (int stride = 32; stride > 0; stride /= 2) {
        __syncthreads();
        if (t < stride)
            tile[t] += tile[t + stride];
    }
    __syncthreads();
    return tile[0]; //~ data-race#1 read
}

__global__ void center(int *data)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    int value = data[t];
    int mean = sum(tile, value) / 64;
    data[t] = sum(tile, value - mean);
}
