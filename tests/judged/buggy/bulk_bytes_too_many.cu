// The phase expects more bytes than the copy brings.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:uninitialized --arg 1=i32[64]:iota
// expect: deadlock

#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void reverse(int *out, const int *in)
{
    __shared__ alignas(16) int tile[64];
    __shared__ uint64_t full;
    int t = threadIdx.x;
    if (t == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in, sizeof tile / 2, &full);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof tile);
    }
    __syncthreads();
    while (!ptx::mbarrier_try_wait_parity(&full, 0)) { //~ deadlock wait
    }
    out[t] = tile[31 - t % 32];
}
