// Lanes that happen to be together agree on a leader. Which lanes these are depends on the schedule, but each of them
// names just those that it saw.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:uninitialized --arg 1=i32[1]:zeros --arg 2=i32[64]:random:0..=9
// expect: clean

__global__ void keep_large(int *out, int *count, const int *in)
{
    int lane = threadIdx.x % 32;
    int value = in[threadIdx.x];
    if (value > 4) {
        unsigned together = __activemask();
        int leader = __ffs(together) - 1;
        int first = 0;
        if (lane == leader)
            first = atomicAdd(count, __popc(together));
        first = __shfl_sync(together, first, leader);
        out[first + __popc(together & ((1u << lane) - 1))] = value;
    }
}
