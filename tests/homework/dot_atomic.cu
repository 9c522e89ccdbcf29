// right
__device__ int mutex = 0;

__global__ void add(float *total, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = i < n ? x[i] : 0.0f;
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffff, value, offset);
    if (threadIdx.x % 32 == 0) atomicAdd(total, value);
}

int main() {
    int n = 1000;
    float *x, *total;
    cudaMallocManaged(&x, n * sizeof(float));
    cudaMallocManaged(&total, sizeof(float));
    for (int i = 0; i < n; i++) x[i] = 0.5f;
    *total = 0;
    add<<<8, 128>>>(total, x, n);
    cudaDeviceSynchronize();
}
