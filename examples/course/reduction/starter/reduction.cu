// Sums an array: each block adds the elements of its threads in shared memory,
// and writes its sum to out[blockIdx.x].
//
//   in   n numbers
//   out  one sum for each block
//
// The block has a power of two of threads, and one float of dynamic shared memory for each.
__global__ void reduction(const float *in, float *out, int n)
{
    extern __shared__ float partial[];

    // Bring one element a thread into shared memory. Mind the end of the array.

    // Add in halves until one number is left.

    // Let one thread write the sum of the block.
}
