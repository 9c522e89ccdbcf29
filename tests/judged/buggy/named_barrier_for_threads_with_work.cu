// The count is that of the threads with work, 48, and no number of whole warps.
//
// flags: --grid 1 --block 64 --arg 0=i32[48]:iota --arg 1=48
// expect: invalid-barrier

__global__ void reverse(int *data, int n)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    if (t < n)
        tile[t] = data[t];
    asm volatile("bar.sync 1, %0;" ::"r"(n) : "memory"); //~ invalid-barrier wait
    if (t < n)
        data[t] = tile[n - 1 - t];
}
