// A sum over 16 lanes that begins 16 lanes too far.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:iota --arg 1=i32[1]:uninitialized
// expect: undefined-shuffle

__global__ void sum(const int *in, int *out)
{
    int lane = threadIdx.x;
    if (lane >= 16)
        return;
    int sum = in[lane];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(0x0000ffff, sum, d); //~ undefined-shuffle#1 sync
    if (lane == 0)
        *out = sum; //~ undefined-shuffle#1 write
}
