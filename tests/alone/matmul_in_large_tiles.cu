// right
// A block of 16 x 16 threads computes 64 x 64 elements, and the sizes are multiples of 64: the kernel has no guard.
__global__ void matmul_in_large_tiles(const float *a, const float *b, float *c, int m, int n, int k) {
    const int TILE = 64, DEPTH = 8, EACH = 4;
    __shared__ float sa[TILE][DEPTH];
    __shared__ float sb[DEPTH][TILE];
    int t = threadIdx.y * blockDim.x + threadIdx.x;
    int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    float sum[EACH][EACH] = {};
    for (int from = 0; from < k; from += DEPTH) {
        sa[t / 4][t % 4 * 2] = a[(row + t / 4) * k + from + t % 4 * 2];
        sa[t / 4][t % 4 * 2 + 1] = a[(row + t / 4) * k + from + t % 4 * 2 + 1];
        sb[t / 32][t % 32 * 2] = b[(from + t / 32) * n + column + t % 32 * 2];
        sb[t / 32][t % 32 * 2 + 1] = b[(from + t / 32) * n + column + t % 32 * 2 + 1];
        __syncthreads();
        for (int d = 0; d < DEPTH; d++)
            for (int y = 0; y < EACH; y++)
                for (int x = 0; x < EACH; x++)
                    sum[y][x] += sa[threadIdx.y * EACH + y][d] * sb[d][threadIdx.x * EACH + x];
        __syncthreads();
    }
    for (int y = 0; y < EACH; y++)
        for (int x = 0; x < EACH; x++)
            c[(row + threadIdx.y * EACH + y) * n + column + threadIdx.x * EACH + x] = sum[y][x];
}
