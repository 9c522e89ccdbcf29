// The index comes from a lane outside of the mask.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:random:3..=3 --arg 1=i32[32]:uninitialized
// expect: undefined-shuffle

__global__ void gather(const int *in, int *out)
{
    int lane = threadIdx.x;
    if (lane < 16) {
        int place = __shfl_sync(0x0000ffff, in[lane], 20); //~ undefined-shuffle#1 sync
        out[lane] = in[place & 31]; //~ undefined-shuffle#1 use
    }
}
