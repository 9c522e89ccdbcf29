// The last block adds up what all have left. The fences are where they should be, but reach no further than the block.
//
// flags: --grid 4 --block 64 --arg 0=i32[256]:iota --arg 1=i32[256]:uninitialized --arg 2=u32[1]:zeros --arg 3=i32[64]:uninitialized
// expect: insufficient-scope

__global__ void sum_of_blocks(const int *in, int *partial, unsigned *count, int *out)
{
    __shared__ bool last;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    partial[i] = in[i] * 2; //~ insufficient-scope write
    __threadfence_block();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(count, 1) == gridDim.x - 1;
    __syncthreads();
    if (!last)
        return;
    __threadfence_block();
    int sum = 0;
    for (int b = 0; b < gridDim.x; ++b)
        sum += partial[b * blockDim.x + threadIdx.x]; //~ insufficient-scope read
    out[threadIdx.x] = sum;
}
