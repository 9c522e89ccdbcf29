// All warps store the same value to one volatile word: whichever stays is right.
//
// flags: --grid 2 --block 64 --arg 0=u32[1]:zeros
// expect: clean

__global__ void something_happened(volatile unsigned *flag)
{
    if (threadIdx.x % 2 == 0)
        *flag = 1;
}
