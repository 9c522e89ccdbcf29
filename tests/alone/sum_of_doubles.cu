// right
// An array of 256 elements of eight bytes, one for each thread.
__global__ void sum_of_doubles(double *out, const double *in, int n) {
  __shared__ double part[256];
  int t = threadIdx.x;
  double sum = 0.0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += blockDim.x * gridDim.x) sum += in[i];
  part[t] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}
