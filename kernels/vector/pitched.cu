// Rows that start `pitch` bytes apart, with unused bytes between the end of one row and the start of the next.

__device__ float *row_of(float *rows, int row, int pitch)
{
    return (float *)((char *)rows + row * pitch);
}

/// Numbers the elements, row after row; one thread a row.
__global__ void number(float *rows, int pitch, int width, int height)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < height)
        for (int column = 0; column < width; column++)
            row_of(rows, row, pitch)[column] = row * width + column;
}

/// Copies the elements side by side; one thread a row.
__global__ void pack(float *out, float *rows, int pitch, int width, int height)
{
#ifdef BUG_PITCH_IS_WIDTH
    pitch = width * sizeof(float); // as if the rows lay side by side
#endif
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < height)
        for (int column = 0; column < width; column++)
            out[row * width + column] = row_of(rows, row, pitch)[column]; //~[pitch-is-width] uninitialized-read, wrong-result
}
