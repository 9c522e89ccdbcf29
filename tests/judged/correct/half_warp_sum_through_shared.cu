// All lanes put their sum into shared memory, the undefined ones too; only the first is taken from there.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota --arg 1=i32[1]:uninitialized
// expect: clean

__global__ void sum_of_halves(const int *in, int *out)
{
    __shared__ int sums[64];
    int t = threadIdx.x;
    int sum = 0;
    if (t % 32 < 16) {
        sum = in[t];
        for (int d = 8; d > 0; d /= 2)
            sum += __shfl_down_sync(0x0000ffff, sum, d);
    }
    sums[t] = sum;
    __syncthreads();
    if (t == 0)
        *out = sums[0] + sums[32];
}
