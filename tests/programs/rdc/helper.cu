#include <cstdio>

__device__ int offset = 100;
static __device__ int local(int x) { return 2 * x; }
// Each object has a text of its own for this, and they have one name.
__device__ int twice(int x)
{
    printf("twice %d\n", x);
    return local(x);
}
