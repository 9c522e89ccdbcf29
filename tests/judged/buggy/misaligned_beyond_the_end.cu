// Pairs are read from an odd element on, and the last of them ends beyond the buffer: both is wrong.
//
// flags: --grid 1 --block 32 --arg 0=i32[64]:iota --arg 1=i32[32]:zeros
// expect: misaligned-access, out-of-bounds

__global__ void sums(const int *in, int *out)
{
    int t = threadIdx.x;
    int2 pair = *(const int2 *)(in + 2 * t + 1); //~ misaligned-access read, out-of-bounds read
    out[t] = pair.x + pair.y;
}
