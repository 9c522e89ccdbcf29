// Tells whether any value is negative.

__global__ void any_negative(int *found, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool negative = i < n && in[i] < 0;
#ifdef BUG_ALL_SET
    if (negative)
        *found = 1; //~ same-value-write#1 write
#else
    if (__syncthreads_or(negative) && threadIdx.x == 0)
        atomicExch(found, 1);
#endif
}

/// The same by one thread.
__global__ void any_negative_reference(int *found, const int *in, int n)
{
    *found = 0;
    for (int i = 0; i < n; i++)
        if (in[i] < 0)
            *found = 1;
}
