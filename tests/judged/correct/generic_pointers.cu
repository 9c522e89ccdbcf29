// A pointer is to shared memory in some threads and to global memory in others.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota
// expect: clean

__device__ __noinline__ int add_to(int *place, int value)
{
    *place += value;
    return *place;
}

__global__ void mixed(int *data)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = t;
    int *place = t % 3 == 0 ? &tile[t] : &data[t];
    int sum = add_to(place, 5);
    __syncthreads();
    data[t] = sum + tile[63 - t];
}
