// Histogram in global memory, its loop a `while`: each thread takes an element, counts it and goes on by the number of threads.

__global__ void histogram(int *bins, const int *data, int n)
{
#ifdef BUG_NAMES_UNDECLARED
    int thread = blockIdx.x * blockDim.x + threadIdx.x; // the loop calls it by another name, and the bins, too
#else
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int *counts = bins;
#endif
    int stride = gridDim.x * blockDim.x;
    while (i < n) {                     //~[names-undeclared] compile-error
        atomicAdd(&counts[data[i]], 1); //~[names-undeclared] compile-error
        i += stride;
    }
}
