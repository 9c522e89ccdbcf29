// doubtful: out-of-bounds
// Counts letters, which is right for a text of small letters and for no other.
__global__ void count_letters(const char *text, int *count, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&count[text[i] - 'a'], 1);
}
