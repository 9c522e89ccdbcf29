// Matrix product c = a · b by tiles: each block computes one tile of c and walks along a row of tiles of a and a
// column of tiles of b, which it holds in shared memory. Row-major; a is m × k, b is k × n. Any sizes:
// what lies outside counts as zero.

#define TILE 16

__global__ void matmul(float *c, const float *a, const float *b, int m, int k, int n)
{
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];

    int x = threadIdx.x;
    int y = threadIdx.y;
    int row = blockIdx.y * TILE + y;
    int column = blockIdx.x * TILE + x;
    float sum = 0;

    for (int first = 0; first < k; first += TILE) {
        tile_a[y][x] = row < m && first + x < k ? a[row * k + first + x] : 0;       //~[no-barrier-after-load, no-barrier-after-use] data-race#1 write
        tile_b[y][x] = first + y < k && column < n ? b[(first + y) * n + column] : 0; //~[no-barrier-after-load, no-barrier-after-use] data-race#2 write
#ifndef BUG_NO_BARRIER_AFTER_LOAD
        __syncthreads();
#endif
        for (int e = 0; e < TILE; e++)
            sum += tile_a[y][e] * tile_b[e][x]; //~[no-barrier-after-load, no-barrier-after-use] data-race#1 read, data-race#2 read //~[no-barrier-after-load] uninitialized-read
#ifndef BUG_NO_BARRIER_AFTER_USE
        __syncthreads();
#endif
    }

#ifdef BUG_OUTPUT_NOT_OFFSET
    row = y; // every block writes the first tile of c
    column = x;
#endif
    if (row < m && column < n)
        c[row * n + column] = sum; //~[output-not-offset] data-race#3 write, wrong-result
}
