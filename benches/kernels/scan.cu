// Inclusive scan of each block's elements, ten steps after Hillis and Steele.
extern "C" __global__ void scan(const int *in, int *out) {
  __shared__ int tile[1024];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  tile[t] = in[i];
  __syncthreads();
  for (int d = 1; d < 1024; d *= 2) {
    int left = t >= d ? tile[t - d] : 0;
    __syncthreads();
    tile[t] += left;
    __syncthreads();
  }
  out[i] = tile[t];
}
