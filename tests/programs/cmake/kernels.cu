#include "reversed.cuh"

__global__ void reverse_tile(int *data, int n)
{
    extern __shared__ int tile[];
    int t = threadIdx.x;
    tile[t] = data[t];
    data[t] = tile[reversed(t, n)];
}

void reverse(int *data, int n) { reverse_tile<<<1, n, n * sizeof(int)>>>(data, n); }
