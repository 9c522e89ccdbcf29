// MoonshotAI/FlashKDA#24, second part: an mbarrier is initialised, and a bulk copy completes at it without a fence for the async proxy.
// not told: docs/limits.md; libcu++ itself uses no fence there
#include "../compare.h"
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void copied(int *out, const int *in)
{
    __shared__ alignas(16) int tile[64];
    __shared__ uint64_t full;
    int t = threadIdx.x;
    if (t == 0) {
        ptx::mbarrier_init(&full, 1); //~
#ifdef FIXED
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
#endif
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof tile);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in, sizeof tile, &full); //~
    }
    __syncthreads();
    while (!ptx::mbarrier_try_wait_parity(&full, 0)) {
    }
    out[t] = tile[t];
}

int main()
{
    auto in = Array<int>::of(64, [](int i) { return i; });
    Array<int> out(64);
    copied<<<1, 64>>>(out.device, in.device);
    compare("copy", out, 64, [](int i) { return i; });
}
