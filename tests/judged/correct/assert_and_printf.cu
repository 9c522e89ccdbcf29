// A kernel that checks itself by assert and prints.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:iota
// expect: clean

#include <cassert>
#include <cstdio>

__global__ void check(int *data)
{
    int t = threadIdx.x;
    int value = data[t];
    assert(value >= 0);
    int top = __reduce_max_sync(0xffffffff, value);
    if (t == 0)
        printf("top %d of %s %5.2f\n", top, "data", 0.5 * top);
    data[t] = top - value;
}
