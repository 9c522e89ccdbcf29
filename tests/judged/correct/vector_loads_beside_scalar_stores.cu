// Half of the threads store single words into one half of a tile, the other half load 16-byte vectors of the other
// half and store them elsewhere.
//
// flags: --grid 1 --block 64 --arg 0=i32[128]:uninitialized --arg 1=i32[128]:iota
// expect: clean

__global__ void copy(int *out, const int *in)
{
    __shared__ __align__(16) int tile[160];
    int t = threadIdx.x;
    tile[2 * t] = in[2 * t];
    tile[2 * t + 1] = in[2 * t + 1];
    __syncthreads();
    if (t < 32)
        tile[128 + t] = t;
    else
        ((int4 *)out)[t - 32] = ((const int4 *)tile)[t - 32];
}
