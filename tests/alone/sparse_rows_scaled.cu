// right
// Each row scales its own elements in place: rows share none.
__global__ void scale(const int *starts, float *values, const float *factors, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows)
        for (int k = starts[row]; k < starts[row + 1]; k++)
            values[k] *= factors[row];
}
