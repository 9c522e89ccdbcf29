// Half of the lanes come to a warp barrier whose mask names just them.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:iota
// expect: clean

__global__ void swap_neighbours(int *data)
{
    __shared__ int tile[32];
    int t = threadIdx.x;
    if (t < 16) {
        tile[t] = data[t];
        __syncwarp(0x0000ffff);
        data[t] = tile[t ^ 1];
    } else {
        data[t] += 1;
    }
}
