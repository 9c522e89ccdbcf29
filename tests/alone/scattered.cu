// doubtful: data-race
// Right where all places differ, as they do in a permutation: the kernel can't know.
__global__ void scatter(const float *in, float *out, const int *where, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[where[i]] = in[i];
}
