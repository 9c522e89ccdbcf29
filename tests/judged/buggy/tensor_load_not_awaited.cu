// A barrier follows the tensor copy, but nobody waits for the phase in which it completes.
//
// flags: --grid 2 --block 64 --arg 0=i32[512]:uninitialized --arg 1=tensor:i32[16,32]:box=8,32:iota
// expect: async-copy-hazard

#include <cuda.h>
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void copy(int *out, const __grid_constant__ CUtensorMap in)
{
    __shared__ alignas(128) int tile[8 * 32];
    __shared__ uint64_t full;
    int t = threadIdx.x;
    if (t == 0) {
        ptx::mbarrier_init(&full, 1);
        int at[2] = {0, 8 * int(blockIdx.x)};
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &in, at, &full); //~ async-copy-hazard#1 copy
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof tile);
    }
    __syncthreads();
    for (int k = t; k < 8 * 32; k += 64)
        out[256 * blockIdx.x + k] = tile[k]; //~ async-copy-hazard#1 read
}
