// Threads that wait for ever, in loops that look at the clock, as libcu++ does. No memory that the host or others may write could end these waits, so
// they are known at once.
//~ run barrier: no-progress@14 leak@21
//~ run right: clean
#include <cstdio>
#include <cstring>
#include <cuda/barrier>

__global__ void all_come(int *out, int more)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> b;
    if (threadIdx.x == 0) init(&b, blockDim.x + more);
    __syncthreads();
    b.arrive_and_wait();
    out[threadIdx.x] = 1;
}

int main(int argc, char **argv)
{
    int *out;
    cudaMalloc(&out, 32 * sizeof(int));
    all_come<<<1, 32>>>(out, !strcmp(argv[1], "barrier"));
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(out);
}
