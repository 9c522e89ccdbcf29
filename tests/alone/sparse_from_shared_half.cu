// wrong: uninitialized-read
// Half of the vector is never loaded. A row of a sparse matrix times a vector in shared memory: columns beyond the vector are guesses, not the kernel's.
__global__ void sparse_from_shared_half(const int *starts, const int *columns, const float *values, const float *x, float *y, int rows, int width) {
    extern __shared__ float vector[];
    for (int i = threadIdx.x; i < width / 2; i += blockDim.x) vector[2 * i + 1] = x[i];
    __syncthreads();
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0;
        for (int i = starts[row]; i < starts[row + 1]; i++) sum += values[i] * vector[columns[i]];
        y[row] = sum;
    }
}
