// wrong: data-race, nothing else
// As sum_of_doubles.cu, without the first barrier.
__global__ void sum_of_doubles_no_barrier(double *out, const double *in, int n) {
  __shared__ double part[256];
  int t = threadIdx.x;
  double sum = 0.0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += blockDim.x * gridDim.x) sum += in[i];
  part[t] = sum;
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}
