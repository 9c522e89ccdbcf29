// A row's mean: the first warp adds up the warps' sums, and the others read the mean without waiting for it.
//
// flags: --grid 1 --block 128 --arg 0=f32[128]:uninitialized --arg 1=f32[128]:random:-1..=1
// expect: data-race, uninitialized-read

__global__ void center(float *out, const float *in)
{
    __shared__ float sums[4];
    __shared__ float mean;
    int t = threadIdx.x;
    float x = in[t], sum = x;
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, d);
    if (t % 32 == 0)
        sums[t / 32] = sum;
    __syncthreads();
    if (t == 0)
        mean = (sums[0] + sums[1] + sums[2] + sums[3]) / 128; //~ data-race write
    out[t] = x - mean; //~ data-race read, uninitialized-read
}
