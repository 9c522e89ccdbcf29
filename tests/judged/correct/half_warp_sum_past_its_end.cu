// The lower half-warp adds up. Its upper lanes read past the end of the mask, and nobody looks at their sums.
//
// flags: --grid 2 --block 64 --arg 0=i32[128]:iota --arg 1=i32[4]:uninitialized
// expect: clean

__global__ void sums(const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x % 32 < 16) {
        int sum = in[i];
        for (int d = 8; d > 0; d /= 2)
            sum += __shfl_down_sync(0x0000ffff, sum, d);
        if (threadIdx.x % 32 == 0)
            out[i / 32] = sum;
    }
}
