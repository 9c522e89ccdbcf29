// NVIDIA/cutlass, examples/cute/tutorial/hopper/wgmma_sm90.cu (commit 7107b055): each thread waits for its own cp.async, and the product reads what all have
// copied. No barrier lies between, nor between the product and the next copies.
// told: data-race
#include "product.h"
#include <cuda_pipeline.h>

__global__ void sums(float *out, const __half *in, int turns)
{
    __shared__ alignas(128) __half tile[2][64 * 16];
    int t = threadIdx.x;
    float d[4] = {};
    for (int turn = 0; turn < turns; ++turn) {
        __half *to = tile[turn % 2];
        __pipeline_memcpy_async(to + t * 8, in + t * 8, 16); //~
        __pipeline_commit();
        __pipeline_wait_prior(0);
#ifdef FIXED
        ptx::fence_proxy_async(ptx::space_shared);
        __syncthreads();
#endif
        product_fence();
        begin_product(d, to, to); //~
        product_commit();
        product_wait<0>(d);
    }
    for (int k = 0; k < 4; ++k)
        out[t * 4 + k] = d[k];
}

int main()
{
    auto in = Array<__half>::of(64 * 16, [](int) { return __half(1.0f); });
    Array<float> out(512);
    sums<<<1, 128>>>(out.device, in.device, 3);
    compare("sums", out, 512, [](int) { return 48.0f; });
}
