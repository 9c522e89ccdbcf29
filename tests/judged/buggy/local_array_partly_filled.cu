// A local array is filled up to a count and read to its end.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:uninitialized --arg 1=i32[32]:iota
// expect: uninitialized-read

__global__ void smallest(int *out, const int *in)
{
    int t = threadIdx.x;
    int own[8];
#pragma unroll 1
    for (int i = 0; i < 1 + t % 8; i++)
        own[i] = in[(t + i) % 32];
    int best = 1000;
#pragma unroll 1
    for (int i = 0; i < 8; i++)
        best = min(best, own[i]); //~ uninitialized-read
    out[t] = best;
}
