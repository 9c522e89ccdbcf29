// The last block adds up what all have left, as production code mends it: every thread fences what it wrote, one of them counts
// behind the barrier, and in the last block every thread fences behind the barrier that tells it so. No fence is next to the
// count; communication through it and the two barriers forces the order of the `fence.sc`s.
//
// flags: --grid 4 --block 64 --arg 0=i32[256]:iota --arg 1=i32[256]:uninitialized --arg 2=u32[1]:zeros --arg 3=i32[64]:uninitialized
// expect: clean

__global__ void sum_of_blocks(const int *in, int *partial, unsigned *count, int *out)
{
    __shared__ bool last;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    partial[i] = in[i] * 2;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(count, 1) == gridDim.x - 1;
    __syncthreads();
    if (!last)
        return;
    __threadfence();
    int sum = 0;
    for (int b = 0; b < gridDim.x; ++b)
        sum += partial[b * blockDim.x + threadIdx.x];
    out[threadIdx.x] = sum;
}
