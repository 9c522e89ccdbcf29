// Two halves of a block do different things and then meet at one barrier.
//
// flags: --grid 1 --block 128 --arg 0=i32[128]:uninitialized --arg 1=i32[128]:iota
// expect: clean

__global__ void swap_halves(int *out, const int *in)
{
    __shared__ int tile[128];
    int t = threadIdx.x;
    if (t < 64)
        tile[t] = in[t] + 1;
    else
        tile[t] = -in[t];
    __syncthreads();
    out[t] = tile[t ^ 64];
}
