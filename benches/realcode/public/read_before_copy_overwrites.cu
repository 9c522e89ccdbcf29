// NVIDIA/TransformerEngine#2695, deepseek-ai/DeepEP#642: threads read a stage by ordinary loads, and the next tensor or bulk copy overwrites it behind a
// barrier, without a fence between the proxies.
// not told: only ordinary writes are followed to the async proxy; CUTLASS's pipelines use no fence there either
#include "../compare.h"
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void sums(int *out, const int *in, int turns)
{
    __shared__ alignas(16) int tile[64];
    __shared__ uint64_t full;
    int t = threadIdx.x, sum = 0;
    if (t == 0)
        ptx::mbarrier_init(&full, 1);
    __syncthreads();
    for (int turn = 0; turn < turns; ++turn) {
        if (t == 0) {
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof tile);
            ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in + 64 * turn, sizeof tile, &full); //~
        }
        while (!ptx::mbarrier_try_wait_parity(&full, turn % 2)) {
        }
        sum += tile[t]; //~
#ifdef FIXED
        ptx::fence_proxy_async(ptx::space_shared);
#endif
        __syncthreads();
    }
    out[t] = sum;
}

int main()
{
    auto in = Array<int>::of(64 * 3, [](int i) { return i; });
    Array<int> out(64);
    sums<<<1, 64>>>(out.device, in.device, 3);
    compare("sums", out, 64, [](int t) { return 192 + 3 * t; });
}
