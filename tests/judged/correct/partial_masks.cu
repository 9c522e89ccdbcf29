// The halves of a warp part ways, and each synchronises with its own lanes only.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:iota
// expect: clean

__global__ void halves(int *data)
{
    __shared__ int tile[32];
    int lane = threadIdx.x;
    if (lane < 16) {
        tile[lane] = data[lane];
        __syncwarp(0x0000ffff);
        data[lane] = tile[15 - lane];
    } else {
        for (int round = 0; round < 3; round++) {
            tile[lane] = data[lane] + round;
            __syncwarp(0xffff0000);
            data[lane] = tile[lane ^ 1];
            __syncwarp(0xffff0000);
        }
    }
}
