// The same, but the next ticket is called by a plain store: it races with those who wait for it, and publishes nothing.
//
// flags: --grid 3 --block 1 --arg 0=i32[1]:zeros --arg 1=u32[2]:zeros
// expect: data-race

__global__ void add_up(int *sum, unsigned *lock)
{
    unsigned ticket = atomicAdd(lock, 1);
    while (*(volatile unsigned *)(lock + 1) != ticket) {} //~ data-race#1 read
    __threadfence();
    *sum += threadIdx.x; //~ data-race#2 read write, data-race#3 write
    __threadfence();
    lock[1] = ticket + 1; //~ data-race#1 write, data-race#4 write
}
