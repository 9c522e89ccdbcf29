// Additions commute, and so do maxima, but not with each other: what comes out of the two depends on who was first, and
// decides on the barrier.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota
// expect: data-race, uninitialized-read

__global__ void exchange(int *data)
{
    __shared__ int level;
    __shared__ int tile[64];
    int t = threadIdx.x;
    if (t == 0)
        level = 0;
    __syncthreads();
    if (t == 0)
        atomicAdd(&level, 3);
    else if (t == 32)
        atomicMax(&level, 2);
    __syncthreads();
    tile[t] = data[t]; //~ data-race#1 write
    if (level == 3)
        __syncthreads();
    data[t] = tile[t ^ 32]; //~ data-race#1 read, uninitialized-read
}
