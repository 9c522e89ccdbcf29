// The same with flags whose scope is the block, passed from one block to another.
//
// flags: --grid 2 --block 32 --arg 0=i32[32]:uninitialized --arg 1=i32[32]:zeros --arg 2=i32[32]:zeros
// expect: insufficient-scope

#include <cuda/atomic>

__global__ void pass(int *out, int *values, int *flags)
{
    int t = threadIdx.x;
    cuda::atomic_ref<int, cuda::thread_scope_block> flag(flags[t]);
    if (blockIdx.x == 0) {
        values[t] = 3 * t; //~ insufficient-scope#1 write
        flag.store(1, cuda::memory_order_release); //~ insufficient-scope#2 write
    } else {
        while (flag.load(cuda::memory_order_acquire) == 0) {} //~ insufficient-scope#2 read
        out[t] = values[t]; //~ insufficient-scope#1 read
    }
}
