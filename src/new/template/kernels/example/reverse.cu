// Reverses a block's elements.
__global__ void reverse(int *data)
{
    extern __shared__ int tile[];
    int t = threadIdx.x;
    tile[t] = data[t]; //~[no-barrier] data-race#1 write
#ifndef BUG_NO_BARRIER
    __syncthreads();
#endif
    data[t] = tile[blockDim.x - 1 - t]; //~[no-barrier] data-race#1 read, uninitialized-read
}
