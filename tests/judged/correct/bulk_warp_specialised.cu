// A producer and consumers hand two stages to and fro.
//
// flags: --grid 2 --block 64 --arg 0=i32[2048]:uninitialized --arg 1=i32[2048]:iota
// expect: clean

#include <cuda/ptx>
namespace ptx = cuda::ptx;

// The first warp produces, the second one consumes, through two stages of 32 words.
__global__ void twice(int *out, const int *in)
{
    __shared__ alignas(16) int stage[2][32];
    __shared__ uint64_t full[2], empty[2];
    int t = threadIdx.x;
    in += 1024 * blockIdx.x;
    out += 1024 * blockIdx.x;
    if (t == 0)
        for (int s = 0; s < 2; s++) {
            ptx::mbarrier_init(&full[s], 1);
            ptx::mbarrier_init(&empty[s], 32);
        }
    __syncthreads();
    if (t == 0) {
        for (int k = 0; k < 32; k++) {
            int s = k % 2;
            while (k >= 2 && !ptx::mbarrier_try_wait_parity(&empty[s], (k / 2 + 1) % 2)) {
            }
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[s], sizeof stage[s]);
            ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, stage[s], in + 32 * k, sizeof stage[s], &full[s]);
        }
    } else if (t >= 32) {
        for (int k = 0; k < 32; k++) {
            int s = k % 2;
            while (!ptx::mbarrier_try_wait_parity(&full[s], k / 2 % 2)) {
            }
            out[32 * k + t - 32] = 2 * stage[s][63 - t];
            ptx::mbarrier_arrive(&empty[s]);
        }
    }
}
