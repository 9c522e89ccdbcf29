// The rows of a tile have a padding column that nobody fills; the last column's right neighbour is read from it.
//
// flags: --grid 1 --block 8,8 --arg 0=i32[64]:uninitialized --arg 1=i32[64]:iota
// expect: uninitialized-read

__global__ void right_neighbours(int *out, const int *in)
{
    __shared__ int tile[8][9];
    int x = threadIdx.x;
    int y = threadIdx.y;
    tile[y][x] = in[8 * y + x];
    __syncthreads();
    out[8 * y + x] = tile[y][x + 1]; //~ uninitialized-read
}
