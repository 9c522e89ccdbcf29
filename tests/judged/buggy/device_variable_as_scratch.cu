// An array that is global to the module serves every block as scratch.
//
// flags: --grid 2 --block 64 --arg 0=i32[128]:iota
// expect: data-race

__device__ int scratch[64];

__global__ void reverse(int *data)
{
    int t = threadIdx.x;
    int *mine = data + 64 * blockIdx.x;
    scratch[t] = mine[t]; //~ data-race#1 write, data-race#2 write
    __syncthreads();
    mine[t] = scratch[63 - t]; //~ data-race#1 read
}
