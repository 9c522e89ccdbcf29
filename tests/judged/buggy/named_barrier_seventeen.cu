// A barrier for each warp, and a block of seventeen warps: there is no barrier 16.
//
// flags: --grid 1 --block 544 --arg 0=i32[544]:iota
// expect: invalid-barrier

__global__ void swap_in_warps(int *data)
{
    __shared__ int tile[544];
    int t = threadIdx.x;
    tile[t] = data[t];
    asm volatile("bar.sync %0, 32;" ::"r"(t / 32) : "memory"); //~ invalid-barrier wait
    data[t] = tile[t ^ 1];
}
