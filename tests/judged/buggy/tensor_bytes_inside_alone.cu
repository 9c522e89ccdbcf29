// The second box lies half outside of the tensor, and the phase expects the bytes inside alone. A copy always brings those of the whole box.
//
// flags: --grid 2 --block 64 --arg 0=i32[512]:uninitialized --arg 1=tensor:i32[12,32]:box=8,32:iota
// expect: deadlock

#include <cuda.h>
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void copy(int *out, const __grid_constant__ CUtensorMap in)
{
    __shared__ alignas(128) int tile[8 * 32];
    __shared__ uint64_t full;
    int t = threadIdx.x;
    int row = 8 * blockIdx.x;
    if (t == 0) {
        ptx::mbarrier_init(&full, 1);
        int at[2] = {0, row};
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &in, at, &full);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, (row + 8 <= 12 ? 8 : 12 - row) * 128);
    }
    __syncthreads();
    while (!ptx::mbarrier_try_wait_parity(&full, 0)) { //~ deadlock wait
    }
    for (int k = t; k < 8 * 32; k += 64)
        out[256 * blockIdx.x + k] = tile[k];
}
