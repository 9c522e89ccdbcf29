// wrong: data-race
// The barrier comes before the stage is used, so the third turn overwrites what others still read.
#define TILE 16

__global__ void product_of_stages(const float *a, const float *b, float *c, int n) {
    __shared__ float as[2][TILE][TILE];
    __shared__ float bs[2][TILE][TILE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;
    const int tiles = n / TILE;
    as[0][ty][tx] = a[row * n + tx];
    bs[0][ty][tx] = b[ty * n + column];
    __syncthreads();
    float sum = 0;
    for (int t = 0; t < tiles; ++t) {
        const int now = t & 1, next = now ^ 1;
        if (t + 1 < tiles) {
            as[next][ty][tx] = a[row * n + (t + 1) * TILE + tx];
            bs[next][ty][tx] = b[((t + 1) * TILE + ty) * n + column];
        }
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += as[now][ty][k] * bs[now][k][tx];
    }
    c[row * n + column] = sum;
}
