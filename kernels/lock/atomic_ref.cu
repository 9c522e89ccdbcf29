// The spin lock once more, with the orders and the scope written at the operations themselves instead of
// fences around them.

#include <cuda/atomic>

#ifdef BUG_BLOCK_SCOPE
constexpr cuda::thread_scope scope = cuda::thread_scope_block; // the other blocks are not in it
#else
constexpr cuda::thread_scope scope = cuda::thread_scope_device;
#endif

#ifdef BUG_RELAXED
constexpr cuda::memory_order on_taking = cuda::memory_order_relaxed; // atomic, but orders nothing else
#else
constexpr cuda::memory_order on_taking = cuda::memory_order_acquire;
#endif

/// One thread of each block adds to the total.
__global__ void lock_per_block(int *total, int *lock, const int *values)
{
    if (threadIdx.x != 0)
        return;
    cuda::atomic_ref<int, scope> locked(*lock);
    int expected = 0;
    while (!locked.compare_exchange_weak(expected, 1, on_taking)) //~[block-scope-ref] insufficient-scope#1 atomic, insufficient-scope#2 atomic
        expected = 0;
    *total += values[blockIdx.x];                     //~[relaxed-ref] data-race#3 read write, data-race#4 write //~[block-scope-ref] insufficient-scope#3 read write, insufficient-scope#4 write
    locked.store(0, cuda::memory_order_release); //~[block-scope-ref] insufficient-scope#2 write, insufficient-scope#5 write
}
