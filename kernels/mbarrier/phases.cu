// The first warp loads tiles one after another, each to a place of its own; the second one sums them as they arrive. A phase can be waited for while
// it is the current one or the one before, so a warp that comes later than that finds other phases under the same parity.

#include <cuda/ptx>
namespace ptx = cuda::ptx;

constexpr int TILES = 6;
constexpr int BYTES = 32 * sizeof(int);

__global__ void sum_tiles(int *out, const int *in, int tiles)
{
    __shared__ alignas(16) int place[TILES][32];
    __shared__ uint64_t full[TILES];
    int lane = threadIdx.x % 32;
    in += blockIdx.x * tiles * 32;
    if (threadIdx.x == 0)
        for (int k = 0; k < TILES; k++)
            ptx::mbarrier_init(&full[k], 1);
    __syncthreads();
#ifdef BUG_TWO_PHASES_BEHIND
    auto barrier = [&](int) { return &full[0]; };
    auto parity = [](int k) { return k % 2; };
#else
    auto barrier = [&](int k) { return &full[k]; };
    auto parity = [](int) { return 0; };
#endif
    if (threadIdx.x == 0) {
        for (int k = 0; k < tiles; k++) {
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, barrier(k), BYTES);
            ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, place[k], in + k * 32, BYTES, barrier(k));
            while (!ptx::mbarrier_try_wait_parity(barrier(k), parity(k))) {
            }
        }
    } else if (threadIdx.x >= 32) {
        int sum = 0;
        for (int k = 0; k < tiles; k++) {
            while (!ptx::mbarrier_try_wait_parity(barrier(k), parity(k))) { //~[two-phases-behind] deadlock wait
            }
            sum = 3 * sum + place[k][31 - lane];
        }
        out[blockIdx.x * 32 + lane] = sum;
    }
}

/// The same by one thread.
__global__ void sum_tiles_reference(int *out, const int *in, int tiles, int blocks)
{
    for (int i = 0; i < blocks * 32; i++) {
        int sum = 0;
        for (int k = 0; k < tiles; k++)
            sum = 3 * sum + in[(i / 32 * tiles + k) * 32 + 31 - i % 32];
        out[i] = sum;
    }
}
