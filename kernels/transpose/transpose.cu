// Matrix transpose through a tile in shared memory, so that rows of both matrices are read and
// written whole. A block of 32 × 32 threads for each 32 × 32 tile.
//
// The tile is written by rows and read by columns. Shared memory has 32 banks of one word: in rows of 32 words a
// column lies in one bank, and a warp's read takes 32 turns. One word of padding a row moves each row on by a bank.

#ifdef BUG_UNPADDED
#define PITCH 32
#else
#define PITCH 33
#endif

__global__ void transpose(int *out, const int *in, int rows, int columns)
{
    __shared__ int tile[32][PITCH];

    int row = blockIdx.y * 32 + threadIdx.y;
    int column = blockIdx.x * 32 + threadIdx.x;
    if (row < rows && column < columns)
        tile[threadIdx.y][threadIdx.x] = in[row * columns + column]; //~[no-barrier] data-race#1 write
#ifndef BUG_NO_BARRIER
    __syncthreads();
#endif

    int out_row = blockIdx.x * 32 + threadIdx.y;
    int out_column = blockIdx.y * 32 + threadIdx.x;
    if (out_row < columns && out_column < rows)
        out[out_row * rows + out_column] = tile[threadIdx.x][threadIdx.y]; //~[no-barrier] data-race#1 read, uninitialized-read //~[unpadded] bank-conflict read
}
