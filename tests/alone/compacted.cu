// doubtful: data-race
// Right where places are those of a scan of the flags.
__global__ void compact(const int *in, const int *flags, const int *places, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && flags[i]) out[places[i]] = in[i];
}
