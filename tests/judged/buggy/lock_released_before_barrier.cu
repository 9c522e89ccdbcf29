// The same with the second barrier gone: the first thread gives the lock back while the rest of its block still works.
//
// flags: --grid 3 --block 32 --arg 0=i32[32]:zeros --arg 1=i32[1]:zeros
// expect: data-race

__global__ void add_up(int *sums, int *lock)
{
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0)
            __nanosleep(20);
        __threadfence();
    }
    __syncthreads();
    sums[threadIdx.x] += blockIdx.x + 1; //~ data-race#1 read write, data-race#2 write
    if (threadIdx.x == 0) {
        __threadfence();
        atomicExch(lock, 0);
    }
}
