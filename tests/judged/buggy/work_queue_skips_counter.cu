// Each lane takes its own number, but the pieces overlap by half.
//
// flags: --grid 1 --block 32 --arg 0=i32[128]:zeros --arg 1=i32[1]:zeros
// expect: data-race

__global__ void fill(int *out, int *next)
{
    int piece = atomicAdd(next, 1);
    for (int i = 0; i < 4; i++)
        out[piece * 2 + i] = piece; //~ data-race write
}
