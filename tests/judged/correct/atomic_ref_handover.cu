// The standard's own words for a hand-over: a release store and acquire loads by cuda::atomic_ref.
//
// flags: --grid 2 --block 32 --arg 0=i32[32]:uninitialized --arg 1=i32[32]:zeros --arg 2=i32[32]:zeros
// expect: clean

#include <cuda/atomic>

__global__ void pass(int *out, int *values, int *flags)
{
    int t = threadIdx.x;
    cuda::atomic_ref<int, cuda::thread_scope_device> flag(flags[t]);
    if (blockIdx.x == 0) {
        values[t] = 3 * t;
        flag.store(1, cuda::memory_order_release);
    } else {
        while (flag.load(cuda::memory_order_acquire) == 0) {}
        out[t] = values[t];
    }
}
