// wrong: data-race
// Keys are placed by a counter of each, which is read and written by all with the same key.
__global__ void place(const int *key, int *next, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int to = next[key[i]];
        next[key[i]] = to + 1;
        out[to] = key[i];
    }
}
