// Message passing with a release store and an acquire load instead of fences.

#include <cuda/atomic>

#ifdef BUG_BLOCK_SCOPE
constexpr cuda::thread_scope scope = cuda::thread_scope_block; // the waiting block is not in it
#else
constexpr cuda::thread_scope scope = cuda::thread_scope_device;
#endif

#ifdef BUG_RELAXED_STORE
constexpr cuda::memory_order on_raising = cuda::memory_order_relaxed; // the flag may overtake the value
#else
constexpr cuda::memory_order on_raising = cuda::memory_order_release;
#endif

#ifdef BUG_RELAXED_LOAD
constexpr cuda::memory_order on_waiting = cuda::memory_order_relaxed; // the value may be read before the flag
#else
constexpr cuda::memory_order on_waiting = cuda::memory_order_acquire;
#endif

__global__ void pass_message(int *out, int *value, int *flag, int message)
{
    cuda::atomic_ref<int, scope> raised(*flag);
    if (blockIdx.x == 0) {
        *value = message;            //~[relaxed-store, relaxed-load] data-race#1 write //~[block-scope] insufficient-scope#1 write
        raised.store(1, on_raising); //~[block-scope] insufficient-scope#2 write
    } else {
        while (raised.load(on_waiting) == 0) {} //~[block-scope] insufficient-scope#2 read
        *out = *value;                          //~[relaxed-store, relaxed-load] data-race#1 read //~[block-scope] insufficient-scope#1 read
    }
}
