// wrong: out-of-bounds
// The first element has no left neighbour and the last one no right one; the program passes the start of the array that it allocates.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void stencil_without_ends(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i - 1] + in[i] + in[i + 1];
}

int main() {
  const int n = 256;
  static float values[n];
  float *in, *out;
  for (int i = 0; i < n; i++) values[i] = i;
  cudaMalloc(&in, n * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  cudaMemcpy(in, values, n * sizeof(float), cudaMemcpyHostToDevice);
  stencil_without_ends<<<1, 256>>>(out, in, n);
  cudaMemcpy(values, out, n * sizeof(float), cudaMemcpyDeviceToHost);
  printf("%f\n", values[1]);
  cudaFree(in);
  cudaFree(out);
  return 0;
}
