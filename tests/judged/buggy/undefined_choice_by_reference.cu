// An undefined value decides whether a function stores to the result through a reference.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:iota --arg 1=i32[32]:zeros
// expect: undefined-shuffle

__device__ __noinline__ void keep(int &kept, int other)
{
    kept = other;
}

__global__ void larger_neighbours(const int *in, int *out)
{
    int lane = threadIdx.x;
    if (lane >= 16)
        return;
    int next = __shfl_down_sync(0x0000ffff, in[lane], 1); //~ undefined-shuffle#1 sync
    if (next > 3) //~ undefined-shuffle#1 branch
        keep(out[lane], lane);
}
