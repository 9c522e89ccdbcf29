// Blocks pass a message on, each to the next one, through words that are all accessed by atomic loads and stores. No two of them race; but
// only the flag's order says that whoever sees it sees the message.

#include <cuda/atomic>

#ifdef BUG_RELAXED
constexpr cuda::memory_order on_raising = cuda::memory_order_relaxed;
constexpr cuda::memory_order on_waiting = cuda::memory_order_relaxed;
#else
constexpr cuda::memory_order on_raising = cuda::memory_order_release;
constexpr cuda::memory_order on_waiting = cuda::memory_order_acquire;
#endif

using Word = cuda::atomic_ref<int, cuda::thread_scope_device>;

__global__ void pass_on(int *out, int *messages, int *flags, const int *in)
{
    int b = blockIdx.x;
    int message = in[b];
    if (b > 0) {
        while (Word(flags[b - 1]).load(on_waiting) == 0) {}
        message += Word(messages[b - 1]).load(cuda::memory_order_relaxed); //~[relaxed] unordered-communication#1 read
    }
    Word(messages[b]).store(message, cuda::memory_order_relaxed); //~[relaxed] unordered-communication#1 write
    Word(flags[b]).store(1, on_raising);
    out[b] = message;
}

/// The same by one thread.
__global__ void pass_on_reference(int *out, const int *in, int n)
{
    int message = 0;
    for (int b = 0; b < n; b++) {
        message += in[b];
        out[b] = message;
    }
}
