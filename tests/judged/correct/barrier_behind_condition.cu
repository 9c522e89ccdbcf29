// The tile is loaded under a condition; the barrier stands behind it, for everybody.
//
// flags: --grid 1 --block 256 --arg 0=i32[256]:uninitialized --arg 1=i32[128]:iota
// expect: clean

__global__ void load(int *out, const int *in)
{
    __shared__ int tile[128];
    int t = threadIdx.x;
    if (t < 128)
        tile[t] = in[t];
    __syncthreads();
    out[t] = tile[t & 127];
}
