// wrong: data-race
// The barrier before the next tile is missing. A block of BM x BN elements, of which a thread computes TM x TN: 256 threads in a row. Nothing else says how many there are.
template <const int BM, const int BN, const int BK, const int TM, const int TN>
__global__ void product_in_tiles(const float *a, const float *b, float *c, int n, int k) {
    __shared__ float sa[BM * BK], sb[BK * BN];
    int row = threadIdx.x / (BN / TN) * TM, column = threadIdx.x % (BN / TN) * TN;
    float sum[TM][TN] = {};
    for (int from = 0; from < k; from += BK) {
        for (int at = threadIdx.x; at < BM * BK; at += BM * BN / (TM * TN))
            sa[at] = a[(blockIdx.y * BM + at / BK) * k + from + at % BK];
        for (int at = threadIdx.x; at < BK * BN; at += BM * BN / (TM * TN))
            sb[at] = b[(from + at / BN) * n + blockIdx.x * BN + at % BN];
        __syncthreads();
        for (int d = 0; d < BK; d++)
            for (int y = 0; y < TM; y++)
                for (int x = 0; x < TN; x++)
                    sum[y][x] += sa[(row + y) * BK + d] * sb[d * BN + column + x];
    }
    for (int y = 0; y < TM; y++)
        for (int x = 0; x < TN; x++)
            c[(blockIdx.y * BM + row + y) * n + blockIdx.x * BN + column + x] = sum[y][x];
}
template __global__ void product_in_tiles<64, 64, 8, 4, 4>(const float *, const float *, float *, int, int);
