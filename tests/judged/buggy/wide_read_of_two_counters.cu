// Two counters are raised by 32-bit atomics and read together by one 64-bit volatile load: each is strong, but
// they overlap in part, so the load may see a mixture.
//
// flags: --grid 2 --block 32 --arg 0=u64[1]:zeros --arg 1=u64[32]:uninitialized
// expect: data-race

__global__ void count(unsigned long long *pair, unsigned long long *seen)
{
    if (blockIdx.x == 0)
        atomicAdd((unsigned *)pair + threadIdx.x % 2, 1); //~ data-race#1 atomic
    else
        seen[threadIdx.x] = *(volatile unsigned long long *)pair; //~ data-race#1 read
}
