// How long a kernel takes: an event before it, one behind it, and the time between the two.

#include <iostream>

__global__ void twice(int *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] *= 2;
}

/// Prints the milliseconds that the kernel takes.
void measure(int *data, int n, cudaStream_t stream)
{
    cudaEvent_t before, behind;
    cudaEventCreate(&before);
    cudaEventCreate(&behind);
    cudaEventRecord(before, stream);
    twice<<<(n + 255) / 256, 256, 0, stream>>>(data, n);
    cudaEventRecord(behind, stream);
    cudaEventSynchronize(behind);

    float milliseconds = 0;
#ifdef BUG_OTHER_EVENTS
    cudaEventElapsedTime(&milliseconds, start, stop); // events that nobody has declared //~ compile-error
    std::cout << milliseconds << " ms" std::endl; //~ compile-error
#else
    cudaEventElapsedTime(&milliseconds, before, behind);
    std::cout << milliseconds << " ms" << std::endl;
#endif
    cudaEventDestroy(before);
    cudaEventDestroy(behind);
}
