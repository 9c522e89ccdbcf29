// wrong: data-race, nothing else
// As blur_of_a_tile.cu, without the barrier: what larger blocks do wrong is no error of it.
#define RADIUS 2
__global__ void blur_of_a_tile_no_barrier(float *out, const float *in, int n) {
  __shared__ float tile[32 + 2 * RADIUS];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  tile[t + RADIUS] = i < n ? in[i] : 0.0f;
  if (t < RADIUS) {
    int left = i - RADIUS, right = i + blockDim.x;
    tile[t] = left >= 0 && left < n ? in[left] : 0.0f;
    tile[t + blockDim.x + RADIUS] = right < n ? in[right] : 0.0f;
  }
  if (i >= n) return;
  float sum = 0.0f;
  for (int k = 0; k <= 2 * RADIUS; k++) sum += tile[t + k];
  out[i] = sum;
}
