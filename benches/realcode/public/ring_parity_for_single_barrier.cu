// tile-ai/tilelang#3087: a barrier that flips in each turn is waited for with the parity of a ring of stages, so that the wait may be for a phase that
// is over, and the next copy overwrites what is still read.
// told: async-copy-hazard, data-race, deadlock
#include "../compare.h"
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void sums(int *out, const int *in, int tiles)
{
    constexpr int STAGES = 2;
    __shared__ alignas(16) int tile[32];
    __shared__ uint64_t full, empty;
    int t = threadIdx.x;
    if (t == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::mbarrier_init(&empty, 32);
    }
    __syncthreads();
    if (t == 0) {
        for (int k = 0; k < tiles; ++k) {
#ifdef FIXED
            int parity = (k + 1) % 2;
#else
            int parity = (k / STAGES + 1) % 2;
#endif
            while (!ptx::mbarrier_try_wait_parity(&empty, parity)) { //~
            }
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof tile);
            ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in + 32 * k, sizeof tile, &full); //~
        }
    } else if (t >= 32) {
        int sum = 0;
        for (int k = 0; k < tiles; ++k) {
            while (!ptx::mbarrier_try_wait_parity(&full, k % 2)) { //~
            }
            sum += tile[t - 32]; //~
            ptx::mbarrier_arrive(&empty);
        }
        out[t - 32] = sum;
    }
}

int main()
{
    auto in = Array<int>::of(32 * 8, [](int i) { return i; });
    Array<int> out(32);
    sums<<<1, 64>>>(out.device, in.device, 8);
    compare("sums", out, 32, [](int t) { return 32 * 28 + 8 * t; });
}
