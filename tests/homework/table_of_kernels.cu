// right
// Kernels in a table are launched with what their row of it says.
#include <cstdio>

__global__ void twice(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] *= 2;
}

struct Entry {
    const char *name;
    void (*kernel)(float *, int);
};

int main()
{
    const int n = 500;
    Entry table[] = {{"twice", twice}};
    float *x;
    cudaMalloc(&x, n * sizeof(float));
    cudaMemset(x, 0, n * sizeof(float));
    for (int t = 0; t < 1; t++) {
        table[t].kernel<<<(n + 127) / 128, 128>>>(x, n);
        printf("%s\n", table[t].name);
    }
    return cudaDeviceSynchronize();
}
