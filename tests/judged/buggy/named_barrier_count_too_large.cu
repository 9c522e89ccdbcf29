// The barrier is for two warps, but waits for three.
//
// flags: --grid 1 --block 96 --arg 0=i32[64]:iota
// expect: deadlock

__global__ void swap_with_partner(int *data)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    if (t < 64) {
        tile[t] = data[t];
        asm volatile("bar.sync 1, 96;" ::: "memory"); //~ deadlock wait
        data[t] = tile[t ^ 32];
    }
}
