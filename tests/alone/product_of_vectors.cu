// right
// Each thread computes 4 x 8 elements and loads four at a time. Another function of the file has tiles of other sizes under the same names.
__device__ float product_of_rows(const float *a, const float *b, int n) {
    constexpr int BM = 32, BN = 32, BK = 32;
    __shared__ float sa[BM][BK], sb[BK][BN];
    sa[threadIdx.y % BM][threadIdx.x % BK] = a[threadIdx.x];
    sb[threadIdx.y % BK][threadIdx.x % BN] = b[threadIdx.x * n];
    __syncthreads();
    return sa[0][0] * sb[0][0];
}

__global__ void product_of_vectors(float *a, float *b, float *c, int m, int n, int k) {
    constexpr int BM = 64, BN = 128, BK = 8, EACH_ROW = 4, EACH_COLUMN = 8;
    __shared__ float sa[BM][BK], sb[BK][BN];
    int t = threadIdx.y * blockDim.x + threadIdx.x;
    float sum[EACH_ROW][EACH_COLUMN] = {};
    for (int from = 0; from < k; from += BK) {
        if (t < 128)
            *(float4 *)&sa[t / 2][t % 2 * 4] = *(float4 *)&a[(blockIdx.y * BM + t / 2) * k + from + t % 2 * 4];
        *(float4 *)&sb[t / 32][t % 32 * 4] = *(float4 *)&b[(from + t / 32) * n + blockIdx.x * BN + t % 32 * 4];
        __syncthreads();
        for (int d = 0; d < BK; d++)
            for (int y = 0; y < EACH_ROW; y++)
                for (int x = 0; x < EACH_COLUMN; x++)
                    sum[y][x] += sa[threadIdx.y * EACH_ROW + y][d] * sb[d][threadIdx.x * EACH_COLUMN + x];
        __syncthreads();
    }
    for (int y = 0; y < EACH_ROW; y++)
        for (int x = 0; x < EACH_COLUMN; x++)
            c[(blockIdx.y * BM + threadIdx.y * EACH_ROW + y) * n + blockIdx.x * BN + threadIdx.x * EACH_COLUMN + x] = sum[y][x];
}
