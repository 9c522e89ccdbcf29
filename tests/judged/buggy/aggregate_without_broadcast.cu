// The elected lane adds for all, but the others use a place that they made up: several lanes write one element.
//
// flags: --grid 1 --block 32 --arg 0=i32[1]:zeros --arg 1=i32[64]:uninitialized --arg 2=i32[32]:iota
// expect: data-race

__global__ void filter(int *count, int *out, const int *in)
{
    int lane = threadIdx.x;
    int value = in[lane];
    unsigned takers = __ballot_sync(0xffffffff, value % 3 == 0);
    if (value % 3 == 0) {
        int first = 0;
        if (lane == __ffs(takers) - 1)
            first = atomicAdd(count, __popc(takers));
        out[first + __popc(takers & lane)] = value; //~ data-race write
    }
}
