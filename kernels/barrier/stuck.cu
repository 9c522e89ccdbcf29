// Threads that wait for each other in a circle.

/// The first half waits for the second at a barrier. The second half comes to it too, or waits for a flag that is raised
/// only behind the barrier.
__global__ void half_spins(int *out, const int *in)
{
    __shared__ volatile int raised;
    int t = threadIdx.x;
    if (t == 0)
        raised = 0;
    __syncthreads();
#ifdef BUG_SPIN_BEFORE_BARRIER
    if (t >= blockDim.x / 2)
        while (raised == 0) {} //~ no-progress run
#endif
    __syncthreads();
    if (t == 0)
        raised = 1;
    out[t] = in[t];
}

/// Named barriers: one half first waits at barrier 1, the other at barrier 2, each for the whole block.
__global__ void named_barriers(int *out, const int *in)
{
    int t = threadIdx.x;
    int half = blockDim.x / 2;
    int first = 1;
#ifdef BUG_CROSSED_BARRIERS
    if (t >= half)
        first = 2;
#endif
    asm volatile("barrier.sync %0, %1;" ::"r"(first), "r"(2 * half) : "memory"); //~[named-crossed] deadlock wait
    asm volatile("barrier.sync %0, %1;" ::"r"(3 - first), "r"(2 * half) : "memory");
    out[t] = in[t];
}
