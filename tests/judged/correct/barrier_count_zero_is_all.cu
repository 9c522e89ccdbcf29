// A count of zero is none: the barrier is for all threads of the block. `ptxas` writes the same instruction for both.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota --arg 1=0
// expect: clean

__global__ void reverse(int *data, int count)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = data[t];
    asm volatile("bar.sync 1, %0;" ::"r"(count) : "memory");
    data[t] = tile[63 - t];
}
