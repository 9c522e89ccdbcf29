// NVIDIA/Fuser#4151: the thread that begins copies waits for its own warpgroup's product, and then overwrites the stage that another warpgroup reads.
// told: data-race
#include "product.h"

__global__ void sums(float *out, const __half *in, int turns)
{
    __shared__ alignas(128) __half tile[64 * 16];
    __shared__ uint64_t full;
    int t = threadIdx.x;
    float d[4] = {};
    if (t == 0)
        ptx::mbarrier_init(&full, 1);
    __syncthreads();
    for (int turn = 0; turn < turns; ++turn) {
        if (t == 0) {
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof tile);
            ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in, sizeof tile, &full); //~
        }
        while (!ptx::mbarrier_try_wait_parity(&full, turn % 2)) { //~
        }
        product_fence();
        begin_product(d, tile, tile); //~
        product_commit();
        product_wait<0>(d);
#ifdef FIXED
        __syncthreads();
#endif
    }
    for (int k = 0; k < 4; ++k)
        out[t * 4 + k] = d[k];
}

int main()
{
    auto in = Array<__half>::of(64 * 16, [](int) { return __half(1.0f); });
    Array<float> out(1024);
    sums<<<1, 256>>>(out.device, in.device, 3);
    compare("sums", out, 1024, [](int) { return 48.0f; });
}
