// Two rows of a two-dimensional block make a warp, and the exchange between them needs a warp barrier only.
//
// flags: --grid 1,2 --block 16,4 --arg 0=i32[128]:iota
// expect: clean

__global__ void swap_rows(int *data)
{
    __shared__ int tile[4][16];
    int x = threadIdx.x;
    int y = threadIdx.y;
    int i = (blockIdx.y * 4 + y) * 16 + x;
    tile[y][x] = data[i];
    __syncwarp();
    data[i] = tile[y ^ 1][15 - x];
}
