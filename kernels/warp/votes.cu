// Votes among the lanes of a warp: does any lane say yes, do all, and which.

#include <cstdio>

#define FULL 0xffffffff

/// Each thread stores what its warp decided.
__global__ void votes(int *any, int *all, int *ballot, const int *says_yes)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool yes = says_yes[i] != 0;
    any[i] = __any_sync(FULL, yes) != 0;
    all[i] = __all_sync(FULL, yes) != 0;
    ballot[i] = __ballot_sync(FULL, yes);
}

/// Prints the votes of one warp in which the even lanes, then lane 12 alone, say yes.
__global__ void print_votes()
{
    int lane = threadIdx.x;
    bool even = lane % 2 == 0;
    int any = __any_sync(FULL, even) != 0;
    int all = __all_sync(FULL, even) != 0;
    unsigned ballot = __ballot_sync(FULL, lane == 12);
    if (lane == 0) {
        printf("any: %d\nall: %d\nballot:", any, all);
        for (int bit = 0; bit < 32; bit++)
            printf(" %d", ballot >> bit & 1);
        printf("\n");
    }
}

/// Puts the values that are not zero side by side, in their order; one warp.
__global__ void compact(int *out, const int *in)
{
    int lane = threadIdx.x;
    int value = in[lane];
    unsigned mask = __ballot_sync(FULL, value != 0);
    if (value != 0) {
#ifdef BUG_ACTIVE_MASK
        mask = __activemask(); // who happens to run together right now, not who took this branch
#endif
        int place = __popc(mask & ((1u << lane) - 1));
        out[place] = value; //~[active-mask] data-race#1 write, wrong-result
    }
}

/// The same places by one thread.
__global__ void compact_reference(int *out, const int *in, int n)
{
    int place = 0;
    for (int i = 0; i < n; i++)
        if (in[i] != 0)
            out[place++] = in[i];
}
