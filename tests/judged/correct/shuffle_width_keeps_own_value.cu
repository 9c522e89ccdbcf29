// The source lies outside of the segment, not outside of the mask: each lane keeps its own value there.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:iota
// expect: clean

__global__ void add_next(int *data)
{
    int lane = threadIdx.x;
    int value = data[lane];
    if (lane < 16)
        data[lane] = value + __shfl_down_sync(0x0000ffff, value, 8, 16);
}
