// Tensor cores and asynchronous copies.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>
using namespace nvcuda;
__global__ void product(const half *a, const half *b, float *c) {
  __shared__ alignas(16) half sa[256];
  __shared__ alignas(16) half sb[256];
  int lane = threadIdx.x;
  __pipeline_memcpy_async(sa + lane * 8, a + lane * 8, 16);
  __pipeline_memcpy_async(sb + lane * 8, b + lane * 8, 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncwarp();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  wmma::load_matrix_sync(fa, sa, 16);
  wmma::load_matrix_sync(fb, sb, 16);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
