// The same with a relaxed load: it sees the flag, and nothing of what came before it.
//
// flags: --grid 2 --block 32 --arg 0=i32[32]:uninitialized --arg 1=i32[32]:zeros --arg 2=i32[32]:zeros
// expect: data-race

#include <cuda/atomic>

__global__ void pass(int *out, int *values, int *flags)
{
    int t = threadIdx.x;
    cuda::atomic_ref<int, cuda::thread_scope_device> flag(flags[t]);
    if (blockIdx.x == 0) {
        values[t] = 3 * t; //~ data-race#1 write
        flag.store(1, cuda::memory_order_release);
    } else {
        while (flag.load(cuda::memory_order_relaxed) == 0) {}
        out[t] = values[t]; //~ data-race#1 read
    }
}
