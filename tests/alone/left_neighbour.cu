// wrong: out-of-bounds
// Differences to the left neighbour: the first thread has none.
__global__ void differences(float *out, const float *in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] - in[i - 1];
}
