// Threads of two warps exchange values through a `volatile` buffer, round after round: each round takes a barrier before the reads and one
// behind them.

extern __shared__ int memory[];

__global__ void mix(int *data, int rounds)
{
    volatile int *buffer = memory;
    int t = threadIdx.x;
    int value = data[t];
    for (int round = 0; round < rounds; round++) {
        buffer[t] = value; //~[no-barrier-after-read] unordered-communication#1 write
        __syncthreads();
        value += 3 * buffer[blockDim.x - 1 - t]; //~[no-barrier-after-read] unordered-communication#1 read
#ifndef BUG_NO_BARRIER_AFTER_READ
        __syncthreads();
#endif
    }
    data[t] = value;
}

/// The same by one thread, pair by pair.
__global__ void mix_reference(int *data, int rounds, int threads)
{
    for (int t = 0; t < threads / 2; t++) {
        int a = data[t];
        int b = data[threads - 1 - t];
        for (int round = 0; round < rounds; round++) {
            int next = a + 3 * b;
            b = b + 3 * a;
            a = next;
        }
        data[t] = a;
        data[threads - 1 - t] = b;
    }
}
