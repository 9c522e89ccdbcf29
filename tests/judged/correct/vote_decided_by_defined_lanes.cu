// What the last lane votes is undefined, and another lane has decided the vote.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:iota --arg 1=i32[1]:uninitialized
// expect: clean

__global__ void any_equal(const int *in, int *out)
{
    int lane = threadIdx.x;
    if (lane >= 16)
        return;
    int next = __shfl_down_sync(0x0000ffff, in[lane], 1);
    int any = __any_sync(0x0000ffff, next == 1);
    if (lane == 0)
        *out = any;
}
