// Warps take work from a common queue until it is empty; each piece has its own place in the output.
//
// flags: --grid 2 --block 64 --arg 0=i32[96]:uninitialized --arg 1=i32[96]:iota --arg 2=i32[1]:zeros
// expect: clean

__global__ void squares(int *out, const int *in, int *next)
{
    int lane = threadIdx.x % 32;
    for (;;) {
        int piece = 0;
        if (lane == 0)
            piece = atomicAdd(next, 1);
        piece = __shfl_sync(0xffffffff, piece, 0);
        if (piece >= 12)
            break;
        if (lane < 8)
            out[piece * 8 + lane] = in[piece * 8 + lane] * in[piece * 8 + lane];
    }
}
