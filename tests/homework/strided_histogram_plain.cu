// wrong: data-race
// The blocks add to the same bins without an atomic, which shows where there are two of them.
#include <cstdlib>

__global__ void count(const int *in, int *out, int n, int bins)
{
    extern __shared__ int s[];
    for (int i = threadIdx.x; i < bins; i += blockDim.x)
        s[i] = 0;
    __syncthreads();
    int base = blockIdx.x * blockDim.x * 4;
    for (int k = 0; k < 4; k++) {
        int i = base + threadIdx.x + k * blockDim.x;
        if (i < n && in[i] >= 0 && in[i] < bins)
            atomicAdd(&s[in[i]], 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < bins; i += blockDim.x)
        if (s[i] > 0)
            out[i] += s[i];
}

void run(const int *in, int *out, int n, int bins)
{
    int blocks = (n + 256 * 4 - 1) / (256 * 4);
    count<<<blocks, 256, bins * sizeof(int)>>>(in, out, n, bins);
}

int main(int argc, char **argv)
{
    int n = atoi(argv[1]), bins = atoi(argv[2]);
    int *in, *out;
    cudaMalloc(&in, n * sizeof(int));
    cudaMalloc(&out, bins * sizeof(int));
    cudaMemset(in, 0, n * sizeof(int));
    cudaMemset(out, 0, bins * sizeof(int));
    run(in, out, n, bins);
    return cudaDeviceSynchronize();
}
