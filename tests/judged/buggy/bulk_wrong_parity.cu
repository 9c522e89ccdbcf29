// The second wait is for the parity of the first phase, which is complete already. If the copy arrives first, the wait is for a phase that never
// begins.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:uninitialized --arg 1=i32[128]:iota
// expect: async-copy-hazard, deadlock

#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void sum(int *out, const int *in)
{
    __shared__ alignas(16) int tile[64];
    __shared__ uint64_t full;
    int t = threadIdx.x, sum = 0;
    if (t == 0)
        ptx::mbarrier_init(&full, 1);
    for (int k = 0; k < 2; k++) {
        __syncthreads();
        if (t == 0) {
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof tile);
            ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in + 64 * k, sizeof tile, &full); //~ async-copy-hazard#1 copy
        }
        __syncthreads();
        while (!ptx::mbarrier_try_wait_parity(&full, 0)) { //~ deadlock wait
        }
        sum += tile[63 - t]; //~ async-copy-hazard#1 read
    }
    out[t] = sum;
}
