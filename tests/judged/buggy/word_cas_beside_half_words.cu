// A half word is updated by compare-and-swap of the word that it lies in, while other threads swap the other half by
// itself. Atomics of different sizes are not atomic to each other.
//
// flags: --grid 1 --block 32 --arg 0=u32[1]:zeros
// expect: data-race

__global__ void update(unsigned *word)
{
    int t = threadIdx.x;
    if (t % 2 == 0)
        atomicCAS(word, 0x10000 * t, 0x10000 * t + t); //~ data-race#1 atomic
    else
        atomicCAS((unsigned short *)word + 1, t - 1, t); //~ data-race#1 atomic
}
