// A barrier follows the bulk copy, but nobody waits for the phase in which it completes.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:uninitialized --arg 1=i32[64]:iota
// expect: async-copy-hazard

#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void reverse(int *out, const int *in)
{
    __shared__ alignas(16) int tile[64];
    __shared__ uint64_t full;
    int t = threadIdx.x;
    if (t == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in, sizeof tile, &full); //~ async-copy-hazard#1 copy
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof tile);
    }
    __syncthreads();
    out[t] = tile[63 - t]; //~ async-copy-hazard#1 read
}
