// Odd lanes have left, and the mask knows it; the even ones read from them all the same.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:iota
// expect: undefined-shuffle

__global__ void take_next(int *data)
{
    int lane = threadIdx.x;
    if (lane % 2)
        return;
    data[lane] = __shfl_down_sync(0x55555555, data[lane], 1); //~ undefined-shuffle#1 sync write
}
