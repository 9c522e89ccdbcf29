// wrong: data-race, nothing else
// Rows of more than 32 elements are summed up by all lanes, into one element without an atomic.
__global__ void sums(const int *starts, const float *values, float *sum, int rows)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    int first = starts[row], end = starts[row + 1];
    if (end - first > 40)
        for (int k = first + lane; k < end; k += 32)
            sum[row] += values[k];
}
