// Product of two n×n matrices by tiles of 16×16; n is a multiple of 16.
extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n) {
  __shared__ float x[16][16], y[16][16];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    x[ty][tx] = a[row * n + k + tx];
    y[ty][tx] = b[(k + ty) * n + column];
    __syncthreads();
    for (int j = 0; j < 16; ++j) sum += x[ty][j] * y[j][tx];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
