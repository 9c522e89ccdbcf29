// The lock is given back just before the last write that it should protect.
//
// flags: --grid 4 --block 32 --arg 0=i32[2]:zeros --arg 1=i32[1]:zeros
// expect: data-race

__global__ void add_up(int *sums, int *lock)
{
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0)
            __nanosleep(20);
        __threadfence();
        int sum = sums[0] + 1; //~ data-race#1 read
        sums[1] = sum;
        __threadfence();
        atomicExch(lock, 0);
        sums[0] = sum; //~ data-race#1 write, data-race#2 write
    }
}
