// Sums of the columns of a matrix in one launch, one block a row: each thread writes the square of its element, and the block that
// counts itself last adds the rows up. What a thread of that block reads, a thread of another one has written: the way leads through
// that thread's fence, the barrier, the counter, the fence of the thread that counts, and the barrier behind it.

__global__ void sum_columns(int *sums, int *squares, unsigned *finished, const int *in)
{
    __shared__ bool last;
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    squares[i] = in[i] * in[i]; //~[no-barrier, no-acquire] data-race#1 write
#ifndef FENCES_BEHIND_BARRIERS
    __threadfence();
#endif
#ifndef BUG_NO_BARRIER
    __syncthreads(); // other warps of the block may still be writing
#endif
#ifdef FENCES_BEHIND_BARRIERS
    __threadfence();
#endif
    if (t == 0) {
        last = atomicAdd(finished, 1) == gridDim.x - 1;
#if !defined(FENCES_BEHIND_BARRIERS) && !defined(BUG_NO_ACQUIRE)
        __threadfence();
#endif
    }
    __syncthreads();
    if (!last)
        return;
#ifdef FENCES_BEHIND_BARRIERS
    __threadfence();
#endif
    int sum = 0;
    for (int row = 0; row < gridDim.x; row++)
        sum += squares[row * blockDim.x + t]; //~[no-barrier, no-acquire] data-race#1 read //~[no-barrier] uninitialized-read
    sums[t] = sum; //~[not-reset] wrong-result
#ifndef BUG_NOT_RESET
    if (t == 0)
        *finished = 0; // for the next launch
#endif
}

/// The same by one thread.
__global__ void sum_columns_reference(int *sums, const int *in, int rows, int columns)
{
    for (int column = 0; column < columns; column++) {
        int sum = 0;
        for (int row = 0; row < rows; row++)
            sum += in[row * columns + column] * in[row * columns + column];
        sums[column] = sum;
    }
}
