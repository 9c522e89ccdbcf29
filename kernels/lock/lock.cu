// A spin lock: whoever swaps the 0 for a 1 has it. Taking it must acquire and giving it back must
// release, at a scope that includes everybody who may want it; otherwise the next owner need not see
// what the last one wrote.

#ifdef BUG_BLOCK_SCOPE
#define SCOPED(operation) operation##_block // sees the block's own threads alone
#else
#define SCOPED(operation) operation
#endif

__device__ void take(int *lock)
{
    while (SCOPED(atomicCAS)(lock, 0, 1) != 0) {} //~[block-scope] insufficient-scope#1 atomic, insufficient-scope#2 atomic //~[plain-release] data-race#1 atomic
#ifndef BUG_NO_FENCE
    SCOPED(__threadfence)();
#endif
}

__device__ void give_back(int *lock)
{
#ifndef BUG_NO_FENCE
    SCOPED(__threadfence)();
#endif
#ifdef BUG_PLAIN_RELEASE
    *lock = 0; //~ data-race#1 write, data-race#2 write
#else
    SCOPED(atomicExch)(lock, 0); //~[block-scope] insufficient-scope#2 atomic, insufficient-scope#5 atomic
#endif
}

/// One thread of each block adds to the total.
__global__ void lock_per_block(int *total, int *lock, const int *values)
{
    if (threadIdx.x == 0) {
        take(lock);
        *total += values[blockIdx.x]; //~[no-fence, plain-release] data-race#3 read write, data-race#4 write //~[block-scope] insufficient-scope#3 read write, insufficient-scope#4 write
        give_back(lock);
    }
}

/// Every thread adds to the total. The lanes of a warp take the lock one after the other: a lane that has it must
/// be able to go on while the others of its warp are still turning in their loop, as is so since Volta.
__global__ void lock_per_thread(int *total, int *lock, const int *values, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        take(lock);
        *total += values[i];
        give_back(lock);
    }
}
