// Tells where the first negative value is. It looks like a flag that many threads set, but each sets it to another value.

__global__ void first_negative(int *position, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] < 0) {
#ifdef BUG_OWN_POSITION
        *position = i; //~ data-race#1 write
#else
        atomicMin(position, i);
#endif
    }
}

/// The same by one thread.
__global__ void first_negative_reference(int *position, const int *in, int n)
{
    for (int i = n - 1; i >= 0; i--)
        if (in[i] < 0)
            *position = i;
}
