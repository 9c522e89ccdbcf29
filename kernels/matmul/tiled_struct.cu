// Matrix product c = a · b by tiles, with a structure for matrices and parts of them: a part is a pointer to its first element and
// the number of elements from a row to the next, which is that of the whole matrix. Square, n × n, n a multiple of the tile.

#define TILE 16

struct Matrix {
    int stride; // elements from one row to the next
    float *elements;
};

__device__ Matrix part(Matrix whole, int tile_row, int tile_column)
{
    whole.elements += (tile_row * whole.stride + tile_column) * TILE;
    return whole;
}

__device__ float element(Matrix m, int row, int column)
{
    return m.elements[row * m.stride + column];
}

__global__ void matmul(float *c, float *a, float *b, int n)
{
    int row = threadIdx.y;
    int column = threadIdx.x;
    float sum = 0;

    for (int step = 0; step < n / TILE; step++) {
        Matrix part_a = part({n, a}, blockIdx.y, step);
        Matrix part_b = part({n, b}, step, blockIdx.x);
#ifdef BUG_NAMES_TAKEN
        __shared__ float part_a[TILE][TILE]; //~ compile-error
        __shared__ float part_b[TILE][TILE]; //~ compile-error
#else
        __shared__ float tile_a[TILE][TILE];
        __shared__ float tile_b[TILE][TILE];
#endif
        tile_a[row][column] = element(part_a, row, column); //~[names-taken] compile-error
        tile_b[row][column] = element(part_b, row, column); //~[names-taken] compile-error
        __syncthreads();
        for (int e = 0; e < TILE; e++)
            sum += tile_a[row][e] * tile_b[e][column];
        __syncthreads();
    }

    Matrix result = part({n, c}, blockIdx.y, blockIdx.x);
#ifdef BUG_WHOLE_NOT_PART
    result = {n, c}; // every block writes the first tile
#endif
    result.elements[row * n + column] = sum; //~[whole-not-part] data-race#1 write, wrong-result
}
