// The barrier waits for a block of 128 threads, and this one has 64.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota --arg 1=128
// expect: invalid-barrier, deadlock

__global__ void reverse(int *data, int threads)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = data[t];
    asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory"); //~ invalid-barrier wait, deadlock wait
    data[t] = tile[63 - t];
}
