// A thread traps where it finds no node.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:iota --arg 1=i32[32]:zeros
// expect: trap

__global__ void follow(const int *next, int *out)
{
    int at = threadIdx.x;
    if (next[at] == 0)
        __trap(); //~ trap stop
    out[at] = next[at];
}
