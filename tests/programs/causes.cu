// Findings of one cause, which are told once, and lines that no thread runs, which a clean verdict names.
//
//~ run race: data-race@15,18
//~ run right: clean unseen@27,29
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

// Without the barrier the read of shared memory may come before the write, and then it reads what nobody has written: that is no
// second mistake.
__global__ void reverse(int *x, bool wait)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    if (wait)
        __syncthreads();
    x[t] = s[63 - t];
}

__global__ void clamp(int *x, int n)
{
    int t = threadIdx.x;
    if (t >= n)
        return;
    if (x[t] < 0)
        x[t] = 0;
    else if (x[t] > 1000)
        x[t] = atomicAdd(x + 64, 1);
}

int main(int, char **arguments)
{
    int *x;
    cudaMalloc(&x, 65 * sizeof(int));
    cudaMemset(x, 0, 65 * sizeof(int));
    reverse<<<1, 64>>>(x, strcmp(arguments[1], "right") == 0);
    clamp<<<1, 64>>>(x, 60);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(x);
}
