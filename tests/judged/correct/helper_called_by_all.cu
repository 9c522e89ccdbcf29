// A helper with a barrier inside is called by the whole block; half of it has work.
//
// flags: --grid 1 --block 128 --arg 0=i32[64]:iota
// expect: clean

__device__ __noinline__ int neighbour(int *tile, int t)
{
    __syncthreads();
    return t < 64 ? tile[t ^ 1] : 0;
}

__global__ void swap_neighbours(int *data)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    if (t < 64)
        tile[t] = data[t];
    int value = neighbour(tile, t);
    if (t < 64)
        data[t] = value;
}
