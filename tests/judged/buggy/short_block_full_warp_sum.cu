// A warp sum in a block whose last warp has 16 lanes: it adds up lanes that there are not.
//
// flags: --grid 1 --block 48 --arg 0=i32[48]:iota --arg 1=i32[1]:zeros
// expect: undefined-shuffle

__global__ void sum(const int *in, int *out)
{
    int sum = in[threadIdx.x];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, d); //~ undefined-shuffle#1 sync
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, sum); //~ undefined-shuffle#1 atomic
}
