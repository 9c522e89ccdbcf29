// Counters and tables as variables of the module, in global and constant memory.
//
// flags: --grid 2 --block 64 --arg 0=i32[128]:uninitialized
// expect: clean

__constant__ int weights[4] = {1, 10, 100, 1000};
__device__ int table[4] = {3, 1, 4, 1};
__device__ int visits;

__global__ void look_up(int *out)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    atomicAdd(&visits, 1);
    out[i] = weights[i % 4] * table[(i + 1) % 4];
}
