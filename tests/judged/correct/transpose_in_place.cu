// A matrix is transposed in place: each pair of tiles is swapped by one block, those below the diagonal do nothing.
//
// flags: --grid 2,2 --block 8,8 --arg 0=i32[256]:iota
// expect: clean

__global__ void transpose(int *data)
{
    __shared__ int a[8][9], b[8][9];
    int x = threadIdx.x, y = threadIdx.y;
    int bx = blockIdx.x, by = blockIdx.y;
    if (bx > by)
        return;
    int here = (by * 8 + y) * 16 + bx * 8 + x;
    int there = (bx * 8 + y) * 16 + by * 8 + x;
    a[y][x] = data[here];
    b[y][x] = data[there];
    __syncthreads();
    data[there] = a[x][y];
    if (bx != by)
        data[here] = b[x][y];
}
