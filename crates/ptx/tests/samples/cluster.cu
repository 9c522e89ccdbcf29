// Hopper: clusters, distributed shared memory, mbarriers and bulk copies.
#include <cuda/barrier>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128, 2) exchange(const float *in, float *out) {
  alignas(128) __shared__ float tile[128];
  __shared__ unsigned long long bar;
  cg::cluster_group cluster = cg::this_cluster();
  unsigned bar_address = (unsigned)__cvta_generic_to_shared(&bar);
  unsigned tile_address = (unsigned)__cvta_generic_to_shared(tile);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar_address), "r"(1));
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar_address), "r"(512));
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     tile_address),
                 "l"(in + blockIdx.x * 128), "r"(512), "r"(bar_address)
                 : "memory");
  }
  __syncthreads();
  asm volatile("{\n.reg .pred P1;\nLAB_WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], 0;\n@P1 bra.uni "
               "DONE;\nbra.uni LAB_WAIT;\nDONE:\n}" ::"r"(bar_address)
               : "memory");
  cluster.sync();
  float *other = cluster.map_shared_rank(tile, cluster.block_rank() ^ 1);
  out[blockIdx.x * 128 + threadIdx.x] = other[threadIdx.x] + tile[threadIdx.x];
  cluster.sync();
}
