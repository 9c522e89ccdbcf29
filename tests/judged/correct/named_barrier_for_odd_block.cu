// A block of 80 threads has three warps; a barrier for 96 is one for all of them.
//
// flags: --grid 1 --block 80 --arg 0=i32[80]:iota
// expect: clean

__global__ void reverse(int *data)
{
    __shared__ int tile[80];
    int t = threadIdx.x;
    tile[t] = data[t];
    asm volatile("bar.sync 3, %0;" ::"r"((blockDim.x + 31) / 32 * 32) : "memory");
    data[t] = tile[79 - t];
}
