// A lock for two blocks that is made of loads and stores alone: each says that it wants to enter, gives way to the other, and waits
// while the other wants to enter and has not given way (G. L. Peterson, "Myths About the Mutual Exclusion Problem", 1981).
// It stands and falls with the order of a store and a later load of something else, which neither release nor acquire
// keeps: only a sequentially consistent fence does.

#include <cuda/atomic>

#ifdef BUG_ACQ_REL
constexpr cuda::memory_order between = cuda::memory_order_acq_rel; // the load may still overtake the stores
#else
constexpr cuda::memory_order between = cuda::memory_order_seq_cst;
#endif

/// Each of the two blocks adds to the total.
__global__ void lock_of_two(int *total, int *wants, int *gave_way, const int *values)
{
    using Word = cuda::atomic_ref<int, cuda::thread_scope_device>;
    int me = blockIdx.x, other = 1 - me;
    Word mine(wants[me]), theirs(wants[other]), last(*gave_way);

    mine.store(1, cuda::memory_order_relaxed);
    last.store(me, cuda::memory_order_relaxed);
    cuda::atomic_thread_fence(between, cuda::thread_scope_device);
    while (theirs.load(cuda::memory_order_acquire) == 1 && last.load(cuda::memory_order_acquire) == me) {}

    *total += values[me]; //~[acq-rel-fence] data-race#1 read write, data-race#2 write
    mine.store(0, cuda::memory_order_release);
}
