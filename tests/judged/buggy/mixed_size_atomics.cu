// A counter of 64 bits whose lower half another block updates as one of 32: neither operation is atomic to the other.
//
// flags: --grid 2 --block 1 --arg 0=u64[1]:zeros
// expect: data-race

__global__ void count(unsigned long long *counter)
{
    if (blockIdx.x == 0)
        atomicAdd(counter, 1ull); //~ data-race#1 atomic
    else
        atomicAdd((unsigned *)counter, 1u); //~ data-race#1 atomic
}
