// triton-lang/triton#3106: a product is left running while the next turn of the loop overwrites a factor that has one buffer only.
// told: async-copy-hazard
#include "product.h"

__global__ void sums(float *out, const __half *in, int turns)
{
    __shared__ alignas(128) __half a[2][64 * 16], b[8 * 16];
    int t = threadIdx.x;
    float d[4] = {};
    for (int turn = 0; turn < turns; ++turn) {
#ifdef FIXED
        product_wait<0>(d);
        __syncthreads();
#endif
        for (int i = t; i < 64 * 16; i += blockDim.x)
            a[turn % 2][i] = in[i];
        b[t] = in[t]; //~
        ptx::fence_proxy_async(ptx::space_shared);
        __syncthreads();
        product_fence();
        begin_product(d, a[turn % 2], b); //~
        product_commit();
        product_wait<1>(d);
        __syncthreads();
    }
    product_wait<0>(d);
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
