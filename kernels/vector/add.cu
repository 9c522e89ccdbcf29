// Vector addition, one thread an element.

__global__ void add(float *c, const float *a, const float *b, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifndef BUG_NO_GUARD
    if (i < n)
#endif
        c[i] = a[i] + b[i]; //~[no-guard] out-of-bounds read, out-of-bounds write
}
