// right
// How far rows lie apart and how wide they are are arguments of their own; a row whose label is to be ignored is set to zero.
__global__ void rows_with_pitches(float *out, int out_pitch, const float *in, int in_pitch, const int *labels, int ignored, int width) {
  extern __shared__ float part[];
  int row = blockIdx.x, t = threadIdx.x;
  bool skipped = labels[row] == ignored;
  float sum = 0.0f;
  for (int i = t; i < width; i += blockDim.x) {
    float x = skipped ? 0.0f : in[row * in_pitch + i];
    out[row * out_pitch + i] = x > 0.0f ? 1.0f : 0.5f;
    sum += x;
  }
  part[t] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0) out[row * out_pitch] = part[0];
}
