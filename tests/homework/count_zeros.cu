// right
__global__ void count(const int *x, int *zeros, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] == 0) atomicAdd(zeros, 1);
}

int main() {
    int n = 4096;
    int *x, *zeros;
    cudaMallocManaged(&x, n * sizeof(int));
    for (int i = 0; i < n; i++) x[i] = i % 3;
    cudaMalloc(&zeros, sizeof(int));
    cudaMemset(zeros, 0, sizeof(int));
    count<<<n / 128, 128>>>(x, zeros, n);
    cudaDeviceSynchronize();
}
