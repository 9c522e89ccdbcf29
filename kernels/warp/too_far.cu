// Shuffles that read from lanes outside of their mask.

/// Sums of the lower half of each warp; its first lane has it. Lanes 8 to 15 read past the end of the half, and
/// nobody looks at their sums.
__global__ void half_sum(int *out, const int *in)
{
    int lane = threadIdx.x % 32;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (lane < 16) {
#ifdef BUG_TOO_FAR
        int far = 16;
#else
        int far = 8;
#endif
        int sum = in[i];
        for (int d = far; d > 0; d /= 2)
            sum += __shfl_down_sync(0x0000ffff, sum, d); //~[shuffle-too-far] undefined-shuffle#1 sync
        if (lane == 0)
            out[i / 32] = sum; //~[shuffle-too-far] undefined-shuffle#1 write
    }
}
