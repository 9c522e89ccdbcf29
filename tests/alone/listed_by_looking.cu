// wrong: data-race
// A list is built with a plain counter.
__global__ void list(const int *flags, int *out, int *count, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && flags[i] == 7) {
        int at = *count;
        out[at] = i;
        *count = at + 1;
    }
}
