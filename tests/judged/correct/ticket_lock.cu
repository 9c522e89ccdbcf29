// A ticket lock: a counter hands out tickets, another one calls them. Only its owner raises the second one, so a
// volatile store will do, behind a fence.
//
// flags: --grid 3 --block 32 --arg 0=i32[1]:zeros --arg 1=u32[2]:zeros
// expect: clean

__global__ void add_up(int *sum, unsigned *lock)
{
    volatile unsigned *serving = lock + 1;
    unsigned ticket = atomicAdd(lock, 1);
    while (*serving != ticket) {}
    __threadfence();
    *sum += threadIdx.x;
    __threadfence();
    *serving = ticket + 1;
}
