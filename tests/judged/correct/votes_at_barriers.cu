// What the threads of a block think, by the three voting barriers, which order memory as well.
//
// flags: --grid 1 --block 96 --arg 0=i32[96]:uninitialized --arg 1=i32[96]:random
// expect: clean

__global__ void votes(int *out, const int *in)
{
    __shared__ int tile[96];
    int t = threadIdx.x;
    int value = in[t];
    tile[t] = value;
    int even = __syncthreads_count(value % 2 == 0);
    int right = tile[(t + 1) % 96];
    int any = __syncthreads_or(right > 90);
    tile[t] = right;
    int all = __syncthreads_and(right >= 0);
    out[t] = tile[95 - t] + even + any + all;
}
