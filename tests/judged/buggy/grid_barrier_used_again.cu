// The second meeting waits for the count that the first has reached already, so that it holds nobody up.
//
// flags: --grid 3 --block 32 --cooperative --arg 0=i32[96]:iota --arg 1=i32[96]:uninitialized --arg 2=u32[1]:zeros
// expect: data-race

__device__ void meet(unsigned *arrived)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1);
        while (*(volatile unsigned *)arrived < gridDim.x) {}
        __threadfence();
    }
    __syncthreads();
}

__global__ void rotate(int *a, int *b, unsigned *arrived)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    b[i] = a[(i + 32) % 96];
    meet(arrived);
    a[i] = b[(i + 33) % 96]; //~ data-race#1 write, data-race#2 read
    meet(arrived);
    b[i] = a[(i + 34) % 96]; //~ data-race#1 read, data-race#2 write
}
