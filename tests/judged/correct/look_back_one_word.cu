// A scan that looks back: each block publishes its sum and a mark in one word, and who reads it polls until the mark is there.
//
// flags: --grid 6 --block 32 --arg 0=i32[6]:zeros --arg 1=i32[192]:iota --arg 2=i32[6]:zeros
// expect: clean

__global__ void block_offsets(int *out, const int *in, int *states)
{
    int own = __reduce_add_sync(0xffffffff, in[blockIdx.x * 32 + threadIdx.x]);
    if (threadIdx.x != 0)
        return;
    int before = 0;
    if (blockIdx.x > 0) {
        int state;
        do {
            state = *(volatile int *)&states[blockIdx.x - 1];
        } while (state == 0);
        before = state - 1;
    }
    out[blockIdx.x] = before;
    *(volatile int *)&states[blockIdx.x] = before + own + 1;
}
