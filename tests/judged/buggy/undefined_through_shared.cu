// The undefined sum goes through shared memory before another warp stores it.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota --arg 1=i32[64]:uninitialized
// expect: undefined-shuffle

__global__ void pass_on(const int *in, int *out)
{
    __shared__ int sums[64];
    int t = threadIdx.x;
    int sum = in[t];
    if (t < 16)
        sum += __shfl_down_sync(0x0000ffff, sum, 8); //~ undefined-shuffle#1 sync
    sums[t] = sum;
    __syncthreads();
    out[t] = sums[63 - t]; //~ undefined-shuffle#1 write
}
