// The best of a half-warp and its place, kept by a function through references. In the upper lanes an undefined value decides
// whether it is called, and nobody looks at what they keep.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:random --arg 1=i32[2]:uninitialized
// expect: clean

__device__ __noinline__ int larger(int a, int b)
{
    return a > b ? a : b;
}

__device__ __noinline__ void keep(int &best, int &place, int other, int where)
{
    best = larger(best, other);
    place = where;
}

__global__ void argmax(const int *in, int *out)
{
    int lane = threadIdx.x;
    if (lane >= 16)
        return;
    int best = in[lane], place = lane;
    for (int d = 8; d > 0; d /= 2) {
        int other = __shfl_down_sync(0x0000ffff, best, d);
        int where = __shfl_down_sync(0x0000ffff, place, d);
        if (other > best)
            keep(best, place, other, where);
    }
    if (lane == 0) {
        out[0] = best;
        out[1] = place;
    }
}
