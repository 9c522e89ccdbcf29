// wrong: data-race
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void rotate(int *a, int *b, int n) {
    int i = cg::this_grid().thread_rank();
    if (i < n) b[i] = a[i] + 1;
    __syncthreads();
    if (i < n) a[i] = b[(i + 1) % n];
}

int main() {
    int n = 256;
    int *a, *b;
    cudaMalloc(&a, n * sizeof(int));
    cudaMalloc(&b, n * sizeof(int));
    cudaMemset(a, 0, n * sizeof(int));
    void *args[] = {&a, &b, &n};
    cudaLaunchCooperativeKernel((void *)rotate, dim3(4), dim3(64), args, 0, 0);
    cudaDeviceSynchronize();
}
