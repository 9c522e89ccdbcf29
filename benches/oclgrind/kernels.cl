// The OpenCL twins of benches/kernels/*.cu, line by line.

kernel void histogram(global const int *data, int n, global int *result) {
  local int bins[256];
  for (int b = get_local_id(0); b < 256; b += get_local_size(0)) bins[b] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = get_global_id(0); i < n; i += get_global_size(0))
    atomic_inc(&bins[data[i] & 255]);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int b = get_local_id(0); b < 256; b += get_local_size(0)) atomic_add(&result[b], bins[b]);
}

kernel void scan(global const int *in, global int *out) {
  local int tile[1024];
  int t = get_local_id(0), i = get_global_id(0);
  tile[t] = in[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = 1; d < 1024; d *= 2) {
    int left = t >= d ? tile[t - d] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    tile[t] += left;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[i] = tile[t];
}

kernel void matmul(global const float *a, global const float *b, global float *c, int n) {
  local float x[16][16], y[16][16];
  int tx = get_local_id(0), ty = get_local_id(1);
  int row = get_group_id(1) * 16 + ty, column = get_group_id(0) * 16 + tx;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    x[ty][tx] = a[row * n + k + tx];
    y[ty][tx] = b[(k + ty) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < 16; ++j) sum += x[ty][j] * y[j][tx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + column] = sum;
}
