// A helper with a barrier inside is called by half of the block, the rest exits.
//
// flags: --grid 1 --block 128 --arg 0=i32[64]:iota
// expect: barrier-after-exit

__device__ __noinline__ int neighbour(int *tile, int t)
{
    __syncthreads(); //~ barrier-after-exit wait
    return tile[t ^ 1];
}

__global__ void swap_neighbours(int *data)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    if (t < 64) {
        tile[t] = data[t];
        data[t] = neighbour(tile, t);
    }
}
