// A barrier of the whole grid made of a counter: barriers on either side, fences around the counter, and a target that
// grows with each use.
//
// flags: --grid 3 --block 32 --cooperative --arg 0=i32[96]:iota --arg 1=i32[96]:uninitialized --arg 2=u32[1]:zeros
// expect: clean

__device__ void meet(unsigned *arrived, unsigned target)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1);
        while (*(volatile unsigned *)arrived < target) {}
        __threadfence();
    }
    __syncthreads();
}

__global__ void rotate(int *a, int *b, unsigned *arrived)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    b[i] = a[(i + 32) % 96];
    meet(arrived, gridDim.x);
    a[i] = b[(i + 33) % 96];
    meet(arrived, 2 * gridDim.x);
    b[i] = a[(i + 34) % 96];
}
