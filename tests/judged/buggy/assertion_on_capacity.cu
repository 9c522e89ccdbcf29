// Threads append what they find, and more of them find something than there is room for. The assertion says so; the race on the
// flag that happened before is reported all the same.
//
// flags: --grid 1 --block 64 --arg 0=i32[16]:zeros --arg 1=u32[1]:zeros --arg 2=i32[1]:zeros --arg 3=i32[64]:iota
// expect: assertion-failed, data-race

#include <assert.h>

__global__ void append(int *out, unsigned *count, int *last, const int *in)
{
    int value = in[threadIdx.x];
    *last = value; //~ data-race write
    unsigned slot = atomicAdd(count, 1);
    assert(slot < 16); //~ assertion-failed stop
    out[slot] = value;
}
