// doubtful: out-of-bounds
// One thread marks the last element. A grid of one block is launched whatever n is, so with n = 0 it writes before the array.
__global__ void mark_last(float *x, int n)
{
    if (threadIdx.x == 0)
        x[n - 1] = 1.0f;
}
