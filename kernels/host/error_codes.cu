// What the calls of the runtime return: an error code, and a text for it.

#include <cstdio>

__global__ void fill(int *data, int value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] = value;
}

/// Allocates memory and fills it; says why, where it can't, and returns the error's code.
int filled(int **data, int value, int n)
{
    cudaError_t status = cudaMalloc((void **)data, n * sizeof(int));
    if (status != cudaSuccess) {
#ifdef BUG_TEXT_OF_LAST_ERROR
        char *text[64];
        text = cudaGetLastError(status); // which takes nothing and returns a code //~ compile-error
#else
        const char *text = cudaGetErrorString(status);
#endif
        fprintf(stderr, "no memory for %d numbers: %s\n", n, (const char *)text);
        return status;
    }
    fill<<<(n + 255) / 256, 256>>>(*data, value, n);
    return cudaGetLastError();
}
