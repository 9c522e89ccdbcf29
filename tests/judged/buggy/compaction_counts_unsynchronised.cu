// Stream compaction: one barrier is missing before the places are read.
//
// flags: --grid 1 --block 96 --arg 0=i32[96]:uninitialized --arg 1=i32[1]:zeros --arg 2=i32[96]:random:1..=5
// expect: data-race, uninitialized-read

__global__ void compact(int *out, int *size, const int *in)
{
    __shared__ int base;
    int t = threadIdx.x, lane = t % 32;
    int value = in[t];
    unsigned keep = __ballot_sync(0xffffffff, value > 0);
    if (t == 0)
        base = atomicAdd(size, 96); //~ data-race write
    unsigned place = base + t; //~ data-race read, uninitialized-read
    if (value > 0)
        out[place % 96] = value + __popc(keep & ((1u << lane) - 1)); //~ data-race#2 write
}
