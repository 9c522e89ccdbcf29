// Whether anything is stored depends on a lane that the mask leaves out.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:iota --arg 1=i32[32]:uninitialized
// expect: undefined-shuffle

__global__ void mark_rising(const int *in, int *out)
{
    int lane = threadIdx.x;
    if (lane < 8) {
        int next = __shfl_down_sync(0x000000ff, in[lane], 1); //~ undefined-shuffle#1 sync
        if (next > in[lane]) //~ undefined-shuffle#1 branch
            out[lane] = 1;
    }
}
