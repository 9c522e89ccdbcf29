// wrong: data-race
// The same within one matrix.
#include <cstdlib>

__global__ void eliminate(float *a, int n, int pivot)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n || i <= pivot)
        return;
    a[i * n + j] -= a[i * n + pivot] / a[pivot * n + pivot] * a[pivot * n + j];
}

int main(int argc, char **argv)
{
    int n = atoi(argv[1]);
    float *a;
    cudaMalloc(&a, n * n * sizeof(float));
    cudaMemset(a, 0, n * n * sizeof(float));
    dim3 block(16, 16), grid((n + 15) / 16, (n + 15) / 16);
    for (int pivot = 0; pivot < n; pivot++)
        eliminate<<<grid, block>>>(a, n, pivot);
    return cudaDeviceSynchronize();
}
