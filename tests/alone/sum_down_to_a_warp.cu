// right
// The halves are added up to the last warp, which shuffles: how often the loop goes round depends on the block alone.
__global__ void sum_down_to_a_warp(float *out, const float *in, int n) {
  extern __shared__ float part[];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  part[t] = i < n ? in[i] : 0.0f;
  __syncthreads();
  for (int half = blockDim.x / 2; half >= 32; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t >= 32) return;
  float sum = part[t];
  for (int down = 16; down > 0; down /= 2) sum += __shfl_down_sync(0xffffffff, sum, down);
  if (t == 0) out[blockIdx.x] = sum;
}
