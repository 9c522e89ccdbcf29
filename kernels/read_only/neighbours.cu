// Reads through the read-only data cache (`__ldg`), which is not kept coherent with what the same launch writes.

/// Squares all elements, and hands each to its neighbour's thread.
__global__ void square_and_swap(int *out, int *data)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] = data[i] * data[i]; //~[read-only-after-write] non-coherent-read#1 write
    __syncthreads();
#ifdef BUG_READ_ONLY
    out[i] = __ldg(&data[i ^ 1]); //~[read-only-after-write] non-coherent-read#1 read
#else
    out[i] = data[i ^ 1];
#endif
}

/// The first half of it.
__global__ void square(int *data)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] = data[i] * data[i];
}

/// The second half. What another launch wrote may be read so.
__global__ void swap(int *out, const int *data)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = __ldg(&data[i ^ 1]);
}
