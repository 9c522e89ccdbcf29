// right
// The host passes one pivot after another.
#include <cstdlib>

__global__ void eliminate(const float *in, float *out, int n, int pivot)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n)
        return;
    float factor = i > pivot ? in[i * n + pivot] / in[pivot * n + pivot] : 0;
    out[i * n + j] = in[i * n + j] - factor * in[pivot * n + j];
}

int main(int argc, char **argv)
{
    int n = atoi(argv[1]);
    float *a, *b;
    cudaMalloc(&a, n * n * sizeof(float));
    cudaMalloc(&b, n * n * sizeof(float));
    cudaMemset(a, 0, n * n * sizeof(float));
    dim3 block(16, 16), grid((n + 15) / 16, (n + 15) / 16);
    for (int pivot = 0; pivot < n; pivot++) {
        eliminate<<<grid, block>>>(a, b, n, pivot);
        cudaMemcpy(a, b, n * n * sizeof(float), cudaMemcpyDeviceToDevice);
    }
    return cudaDeviceSynchronize();
}
