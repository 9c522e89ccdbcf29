// Reverses a block's values through shared memory; nothing stands between the write and the read.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:uninitialized --arg 1=i32[64]:iota
// expect: data-race, uninitialized-read

__global__ void reverse(int *out, const int *in)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = in[t]; //~ data-race#1 write
    out[t] = tile[63 - t]; //~ data-race#1 read, uninitialized-read
}
