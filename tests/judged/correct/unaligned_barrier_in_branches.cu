// Even and odd lanes come to a barrier in different places. That is what barrier.sync, without .aligned, is for: it
// counts threads, wherever they are.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota
// expect: clean

__global__ void swap_neighbours(int *data)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    if (t % 2 == 0) {
        tile[t] = data[t];
        asm volatile("barrier.sync 1, 64;" ::: "memory");
        data[t] = tile[t + 1];
    } else {
        tile[t] = -data[t];
        asm volatile("barrier.sync 1, 64;" ::: "memory");
        data[t] = tile[t - 1];
    }
}
