// A grid barrier of a counter and nothing else: the blocks meet, their writes need not.
//
// flags: --grid 3 --block 32 --cooperative --arg 0=i32[96]:iota --arg 1=i32[96]:uninitialized --arg 2=u32[1]:zeros
// expect: data-race

__global__ void rotate(int *a, int *b, unsigned *arrived)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    b[i] = a[i] + 1; //~ data-race#1 write
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1);
        while (*(volatile unsigned *)arrived < gridDim.x) {}
    }
    __syncthreads();
    a[i] = b[(i + 32) % 96]; //~ data-race#1 read
}
