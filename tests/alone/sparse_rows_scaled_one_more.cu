// wrong: data-race
// The same with `<=`: the first element of the next row is another thread's.
__global__ void scale(const int *starts, float *values, const float *factors, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows)
        for (int k = starts[row]; k <= starts[row + 1]; k++)
            values[k] *= factors[row];
}
