// Peterson's mutual exclusion for two blocks. Between raising one's own flag and looking at the other's there must be
// a fence that is sequentially consistent; one of release and acquire lets both blocks read the old value.
//
// flags: --grid 2 --block 1 --arg 0=i32[1]:zeros --arg 1=i32[3]:zeros
// expect: data-race

__global__ void count(int *sum, volatile int *flags)
{
    int me = blockIdx.x;
    flags[me] = 1;
    flags[2] = 1 - me;
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    while (flags[1 - me] == 1 && flags[2] == 1 - me) {}
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    *sum += 1; //~ data-race#1 read write, data-race#2 write
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    flags[me] = 0;
}
