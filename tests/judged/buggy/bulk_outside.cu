// The last block copies beyond the end.
//
// flags: --grid 2 --block 64 --arg 0=i32[128]:uninitialized --arg 1=i32[100]:iota
// expect: out-of-bounds, uninitialized-read

#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void reverse(int *out, const int *in)
{
    __shared__ alignas(16) int tile[64];
    __shared__ uint64_t full;
    int t = threadIdx.x;
    if (t == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    if (t == 0) {
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in + 64 * blockIdx.x, sizeof tile, &full); //~ out-of-bounds read
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof tile);
    }
    while (!ptx::mbarrier_try_wait_parity(&full, 0)) {
    }
    out[64 * blockIdx.x + t] = tile[63 - t]; //~ uninitialized-read read
}
