// The bound is set where it is above one, and asked for where it is above zero.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota --arg 1=1
// expect: uninitialized-read

__global__ void clamp(int *data, int most)
{
    __shared__ int bound;
    if (most > 1 && threadIdx.x == 0)
        bound = most;
    __syncthreads();
    data[threadIdx.x] = min(data[threadIdx.x], most > 0 ? bound : 1000); //~ uninitialized-read
}
