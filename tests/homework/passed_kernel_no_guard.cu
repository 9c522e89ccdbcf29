// wrong: out-of-bounds
// A function launches the kernel that it is passed, with more threads than there are elements.
__global__ void twice(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] *= n;
}

template <typename Kernel>
void run(Kernel kernel, float *x, int n, int threads)
{
    kernel<<<(n + threads - 1) / threads, threads>>>(x, n);
}

int main()
{
    const int n = 500;
    float *x;
    cudaMalloc(&x, n * sizeof(float));
    cudaMemset(x, 0, n * sizeof(float));
    run(twice, x, n, 128);
    return cudaDeviceSynchronize();
}
