// Odd and even lanes each come to a __syncthreads of their own, so no warp is whole at either.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:uninitialized --arg 1=i32[64]:iota
// expect: divergent-barrier

__global__ void swap_neighbours(int *out, const int *in)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    if (t % 2 == 0) {
        tile[t] = in[t];
        __syncthreads(); //~ divergent-barrier#1 wait
    } else {
        tile[t] = -in[t];
        __syncthreads(); //~ divergent-barrier#1 wait
    }
    out[t] = tile[t ^ 1];
}
