// Each block counts in a word of its own in global memory, by atomics whose scope is the block.
//
// flags: --grid 2 --block 64 --arg 0=i32[2]:zeros --arg 1=i32[128]:random
// expect: clean

__global__ void count_odd(int *counts, const int *values)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (values[i] % 2)
        atomicAdd_block(&counts[blockIdx.x], 1);
    __syncthreads();
    if (threadIdx.x == 0 && counts[blockIdx.x] > 32)
        atomicExch_block(&counts[blockIdx.x], 32);
}
