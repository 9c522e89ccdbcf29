// right
// A row of a sparse matrix times a vector.
__global__ void spmv(const int *starts, const int *columns, const float *values, const float *x, float *y, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0;
    for (int j = starts[row]; j < starts[row + 1]; j++) sum += values[j] * x[columns[j]];
    y[row] = sum;
}
