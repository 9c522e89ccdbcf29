// wrong: data-race
__global__ void add(float *x, int n, int offset)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && i >= offset)
        x[i] += x[i - offset];
}
