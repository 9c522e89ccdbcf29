// Multiplies square matrices of n rows: each block makes one tile of c.
#define TILE 16

__global__ void product(const float *a, const float *b, float *c, int n)
{
    __shared__ float left[TILE][TILE];
    __shared__ float right[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    float sum = 0.0f;
    for (int first = 0; first < n; first += TILE) {
        left[y][x] = row < n && first + x < n ? a[row * n + first + x] : 0.0f;
        right[y][x] = first + y < n && column < n ? b[(first + y) * n + column] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum += left[y][k] * right[k][x];
        __syncthreads();
    }
    if (row < n && column < n)
        c[row * n + column] = sum;
}
