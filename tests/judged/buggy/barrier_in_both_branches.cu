// Two halves of a block each come to a __syncthreads of their own.
//
// flags: --grid 1 --block 128 --arg 0=i32[128]:uninitialized --arg 1=i32[128]:iota
// expect: divergent-barrier

__global__ void swap_halves(int *out, const int *in)
{
    __shared__ int tile[128];
    int t = threadIdx.x;
    if (t < 64) {
        tile[t] = in[t];
        __syncthreads(); //~ divergent-barrier#1 wait
    } else {
        tile[t] = -in[t];
        __syncthreads(); //~ divergent-barrier#1 wait
    }
    out[t] = tile[t ^ 64];
}
