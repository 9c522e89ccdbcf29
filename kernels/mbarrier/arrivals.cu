// Threads exchange values, round after round, and meet at an mbarrier that expects an arrival of each of them. Only the first `n` have values.

#include <cuda/barrier>

extern __shared__ int values[];

__global__ void mix(int *data, int rounds, int n)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> meet;
    int t = threadIdx.x;
    if (t == 0)
        init(&meet, blockDim.x);
    __syncthreads();
#ifdef BUG_ARRIVAL_MISSING
    if (t >= n)
        return;
#endif
    int value = t < n ? data[t] : 0;
    for (int round = 0; round < rounds; round++) {
        if (t < n)
            values[t] = value; //~[one-phase-a-round] data-race#1 write
        meet.arrive_and_wait(); //~[arrival-missing] deadlock wait
        if (t < n)
            value += 3 * values[n - 1 - t]; //~[one-phase-a-round] data-race#1 read
#ifndef BUG_ONE_PHASE_A_ROUND
        meet.arrive_and_wait();
#endif
    }
    if (t < n)
        data[t] = value;
}

/// The same by one thread, pair by pair.
__global__ void mix_reference(int *data, int rounds, int n)
{
    for (int t = 0; t < (n + 1) / 2; t++) {
        int a = data[t];
        int b = data[n - 1 - t];
        for (int round = 0; round < rounds; round++) {
            int next = a + 3 * b;
            b = b + 3 * a;
            a = next;
        }
        data[t] = a;
        data[n - 1 - t] = b;
    }
}
