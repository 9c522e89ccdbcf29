// wrong: out-of-bounds
// The same with half of the shared memory that it needs.
#include <cstdlib>

__global__ void mirror(const float *x, float *y, int d)
{
    extern __shared__ float s[];
    float *a = s, *b = s + 16 * d;
    for (int i = threadIdx.x; i < 16 * d; i += blockDim.x) {
        a[i] = x[i];
        b[i] = 2 * x[i];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 16 * d; i += blockDim.x)
        y[i] = a[i] + b[16 * d - 1 - i];
}

void run(const float *x, float *y, int d)
{
    size_t bytes = 16 * d * sizeof(float);
    mirror<<<1, 256, bytes>>>(x, y, d);
}

int main(int argc, char **argv)
{
    int d = atoi(argv[1]);
    float *x, *y;
    cudaMalloc(&x, 16 * d * sizeof(float));
    cudaMalloc(&y, 16 * d * sizeof(float));
    cudaMemset(x, 0, 16 * d * sizeof(float));
    run(x, y, d);
    return cudaDeviceSynchronize();
}
