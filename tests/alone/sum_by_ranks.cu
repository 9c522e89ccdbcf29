// right
// Ranks of cooperative groups count in all directions; the kernel works in one.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__device__ void sum_of_block(float *out, const float *in, float *part, int first, int step, int n, const cg::thread_block &block) {
  int t = block.thread_rank();
  part[t] = 0.0f;
  for (int i = first; i < n; i += step) part[t] += in[i];
  block.sync();
  for (int half = block.size() / 2; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
    block.sync();
  }
  if (t == 0) out[block.group_index().x] = part[0];
}

__global__ void sum_by_ranks(float *sums, const float *in, int n) {
  extern __shared__ float part[];
  cg::grid_group grid = cg::this_grid();
  cg::thread_block block = cg::this_thread_block();
  sum_of_block(sums, in, part, grid.thread_rank(), grid.size(), n, block);
  grid.sync();
  if (blockIdx.x == 0) sum_of_block(sums, sums, part, block.thread_rank(), block.size(), gridDim.x, block);
}
