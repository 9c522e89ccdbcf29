// The last thread to store its number wins. Only where that is one of the upper warp, the threads exchange their values
// without a barrier.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota
// expect: data-race, uninitialized-read

__global__ void exchange(int *data)
{
    __shared__ int winner;
    __shared__ int tile[64];
    int t = threadIdx.x;
    atomicExch(&winner, t);
    __syncthreads();
    tile[t] = data[t]; //~ data-race#1 write
    if (winner < 32)
        __syncthreads();
    data[t] = tile[t ^ 32]; //~ data-race#1 read, uninitialized-read
}
