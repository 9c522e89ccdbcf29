// The first warp produces tiles, two others consume them, through two stages that they hand to and fro with named barriers. Each barrier has as many
// participants as the block has threads: who produces arrives at `full` and waits at `empty`, who consumes the other way round.

constexpr int STAGES = 2;
constexpr int CONSUMERS = 64;

#if defined(BUG_COUNT_TOO_SMALL)
constexpr int PRODUCED = CONSUMERS, CONSUMED = CONSUMERS; // the consumers alone
#elif defined(BUG_COUNT_TOO_LARGE)
constexpr int PRODUCED = 64 + CONSUMERS, CONSUMED = 64 + CONSUMERS; // a warp more than there are
#else
constexpr int PRODUCED = 32 + CONSUMERS, CONSUMED = 32 + CONSUMERS;
#endif

__device__ void arrive(int barrier, int threads)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory"); //~[count-too-large] invalid-barrier wait
}

__device__ void wait(int barrier, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory"); //~[count-too-large] invalid-barrier wait, deadlock wait
}

__device__ int full(int stage)
{
    return 1 + stage;
}

__device__ int empty(int stage)
{
    return 1 + STAGES + stage;
}

__global__ void sum_tiles(int *out, const int *in, int tiles)
{
    __shared__ int stages[STAGES][CONSUMERS];
    int t = threadIdx.x;
    in += blockIdx.x * tiles * CONSUMERS;
    if (t < 32) {
        for (int k = 0; k < tiles; k++) {
            int stage = k % STAGES;
            if (k >= STAGES)
                wait(empty(stage), 32 + CONSUMERS);
            for (int i = t; i < CONSUMERS; i += 32)
                stages[stage][i] = in[k * CONSUMERS + i]; //~[count-too-small, released-early] data-race#1 write
            arrive(full(stage), PRODUCED);
        }
    } else {
        int i = t - 32;
        int sum = 0;
        for (int k = 0; k < tiles; k++) {
            int stage = k % STAGES;
            wait(full(stage), CONSUMED); //~[count-too-small] deadlock wait
#ifdef BUG_RELEASED_EARLY
            if (k + STAGES < tiles)
                arrive(empty(stage), 32 + CONSUMERS);
#endif
            sum = 3 * sum + stages[stage][CONSUMERS - 1 - i]; //~[count-too-small, released-early] data-race#1 read
#ifndef BUG_RELEASED_EARLY
            if (k + STAGES < tiles)
                arrive(empty(stage), 32 + CONSUMERS);
#endif
        }
        out[blockIdx.x * CONSUMERS + i] = sum;
    }
}

/// The same by one thread.
__global__ void sum_tiles_reference(int *out, const int *in, int tiles, int blocks)
{
    for (int i = 0; i < blocks * CONSUMERS; i++) {
        int sum = 0;
        for (int k = 0; k < tiles; k++)
            sum = 3 * sum + in[(i / CONSUMERS * tiles + k) * CONSUMERS + CONSUMERS - 1 - i % CONSUMERS];
        out[i] = sum;
    }
}
