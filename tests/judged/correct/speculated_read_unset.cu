// Nobody sets the bound where there is none, and nobody asks for it then. The compiler loads it all the same and
// drops the value.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota --arg 1=0
// expect: clean

__global__ void clamp(int *data, int most)
{
    __shared__ int bound;
    bool bounded = most > 0;
    if (bounded && threadIdx.x == 0)
        bound = most;
    __syncthreads();
    data[threadIdx.x] = min(data[threadIdx.x], bounded ? bound : 1000);
}
