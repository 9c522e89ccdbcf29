// right
typedef int (*op_t)(int);
__device__ int twice(int x) { return 2 * x; }
__device__ op_t d_twice = twice;

__global__ void map(int *x, int n, op_t op) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = op(x[i]);
}

int main() {
    op_t op;
    cudaMemcpyFromSymbol(&op, d_twice, sizeof(op));
    int n = 200, *x;
    cudaMallocManaged(&x, n * sizeof(int));
    for (int i = 0; i < n; i++) x[i] = i;
    map<<<2, 100>>>(x, n, op);
    cudaDeviceSynchronize();
}
