// A matrix is transposed in place by pairs of tiles, and both blocks of a pair swap them.
//
// flags: --grid 2,2 --block 8,8 --arg 0=i32[256]:iota
// expect: data-race

__global__ void transpose(int *data)
{
    __shared__ int a[8][9], b[8][9];
    int x = threadIdx.x, y = threadIdx.y;
    int bx = blockIdx.x, by = blockIdx.y;
    int here = (by * 8 + y) * 16 + bx * 8 + x;
    int there = (bx * 8 + y) * 16 + by * 8 + x;
    a[y][x] = data[here];  //~ data-race#1 read
    b[y][x] = data[there]; //~ data-race#4 read
    __syncthreads();
    data[there] = a[x][y]; //~ data-race#1 write, data-race#5 write
    if (bx != by)
        data[here] = b[x][y];  //~ data-race#4 write, data-race#5 write
}
