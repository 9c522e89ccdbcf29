// A lock taken and given back by one thread for its block: fences outside, barriers inside.
//
// flags: --grid 3 --block 32 --arg 0=i32[32]:zeros --arg 1=i32[1]:zeros
// expect: clean

__global__ void add_up(int *sums, int *lock)
{
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0)
            __nanosleep(20);
        __threadfence();
    }
    __syncthreads();
    sums[threadIdx.x] += blockIdx.x + 1;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicExch(lock, 0);
    }
}
