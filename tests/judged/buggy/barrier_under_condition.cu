// The barrier stands inside the condition: the first four warps wait there for each other, the
// others fall through and read at once.
//
// flags: --grid 1 --block 256 --arg 0=i32[256]:uninitialized --arg 1=i32[128]:iota
// expect: divergent-barrier, data-race, uninitialized-read

__global__ void load(int *out, const int *in)
{
    __shared__ int tile[128];
    int t = threadIdx.x;
    if (t < 128) {
        tile[t] = in[t]; //~ data-race#1 write
        __syncthreads(); //~ divergent-barrier#1 wait
    }
    out[t] = tile[t & 127]; //~ data-race#1 read, divergent-barrier#1 pass, uninitialized-read
}
