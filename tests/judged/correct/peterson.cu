// Peterson's mutual exclusion for two blocks, with a sequentially consistent fence between raising one's own flag and
// looking at the other's.
//
// flags: --grid 2 --block 1 --arg 0=i32[1]:zeros --arg 1=i32[3]:zeros
// expect: clean

__global__ void count(int *sum, volatile int *flags)
{
    int me = blockIdx.x;
    for (int round = 0; round < 2; round++) {
        flags[me] = 1;
        flags[2] = 1 - me;
        __threadfence();
        while (flags[1 - me] == 1 && flags[2] == 1 - me) {}
        __threadfence();
        *sum += 1;
        __threadfence();
        flags[me] = 0;
    }
}
