// right
// One row of a table of sums, made of the row above; the host makes row 0 itself.
__global__ void next_row(int *table, const int *weight, int width, int row)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column < width)
        table[row * width + column] = table[(row - 1) * width + column] + weight[column];
}
