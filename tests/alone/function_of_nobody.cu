// doubtful: invalid-call
// Applies a function that the host passes; this file has none whose address is taken.
__global__ void apply(int *x, int (*f)(int))
{
    x[threadIdx.x] = f(threadIdx.x);
}
