// right
__global__ void exchange(int *x, int n, int phase)
{
    int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + phase % 2;
    if (i + 1 < n && x[i] > x[i + 1]) {
        int kept = x[i];
        x[i] = x[i + 1];
        x[i + 1] = kept;
    }
}
