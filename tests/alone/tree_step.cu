// right
// The step is a power of two.
__global__ void add(float *x, int n, int level)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, distance = 1 << level;
    if (i % (2 * distance) == 0 && i + distance < n)
        x[i] += x[i + distance];
}
