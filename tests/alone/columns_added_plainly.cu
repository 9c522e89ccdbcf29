// wrong: data-race
// The same with the transposed matrix: rows meet in their columns.
__global__ void spmv(const int *starts, const int *columns, const float *values, const float *x, float *y, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    for (int j = starts[row]; j < starts[row + 1]; j++) y[columns[j]] += values[j] * x[row];
}
