// Sums numbers, as many as its first argument says.
#include <cstdio>
#include <cstdlib>

__global__ void reduce(const int *in, int *sum, int n)
{
    __shared__ int part[256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    part[t] = i < n ? in[i] : 0;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half)
            part[t] += part[t + half];
    }
    if (t == 0)
        atomicAdd(sum, part[0]);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 0;
    n = n > 0 ? n : 1000;
    int *in, *sum, result = 0, *host = new int[n];
    for (int i = 0; i < n; i++)
        host[i] = i;
    if (cudaMalloc(&in, n * sizeof(int)) || cudaMalloc(&sum, sizeof(int)))
        return 2;
    cudaMemcpy(in, host, n * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemset(sum, 0, sizeof(int));
    for (int run = 0; run < 12; run++)
        reduce<<<(n + 255) / 256, 256>>>(in, sum, n);
    cudaMemcpy(&result, sum, sizeof(int), cudaMemcpyDeviceToHost);
    printf("%d\n", result);
    cudaFree(in);
    cudaFree(sum);
    delete[] host;
    return 0;
}
