// The columns are exchanged between rows of 16 two apart, which belong to different warps.
//
// flags: --grid 1,2 --block 16,4 --arg 0=i32[128]:iota
// expect: data-race, uninitialized-read

__global__ void swap_rows(int *data)
{
    __shared__ int tile[4][16];
    int x = threadIdx.x;
    int y = threadIdx.y;
    int i = (blockIdx.y * 4 + y) * 16 + x;
    tile[y][x] = data[i]; //~ data-race write
    __syncwarp();
    data[i] = tile[y ^ 2][x]; //~ data-race read, uninitialized-read
}
