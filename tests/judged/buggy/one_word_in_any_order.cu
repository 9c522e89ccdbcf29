// Warps leave a number of their own in one volatile word. Which one stays, nothing says.
//
// flags: --grid 1 --block 64 --arg 0=u32[1]:zeros
// expect: unordered-communication

__global__ void whoever_comes_last(volatile unsigned *word)
{
    if (threadIdx.x % 32 == 0)
        *word = threadIdx.x; //~ unordered-communication write
}
