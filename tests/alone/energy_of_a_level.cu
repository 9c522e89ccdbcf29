// wrong: data-race
// The same behind two conditions.
__global__ void act(const int *kind, const int *level, int *total, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && kind[i] == 3) {
        if (level[i] > 1000) *total += level[i];
    }
}
