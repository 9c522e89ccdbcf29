// A function that gets a generic pointer changes the right neighbour's word of the tile while that thread reads it.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota
// expect: data-race

__device__ __noinline__ void add_to(int *place, int value)
{
    *place += value; //~ data-race#1 write
}

__global__ void mixed(int *data)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = t;
    __syncthreads();
    int *place = t % 3 == 0 ? &tile[(t + 1) % 64] : &data[t];
    add_to(place, 5);
    data[t] += tile[t]; //~ data-race#1 read
}
