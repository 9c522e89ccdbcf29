// MoonshotAI/FlashKDA#24: a state converted to float by ordinary stores goes out by a bulk copy, behind a barrier alone.
// told: missing-proxy-fence
#include "../compare.h"
#include <cuda/ptx>
#include <cuda_fp16.h>
namespace ptx = cuda::ptx;

__global__ void state(float *out, const __half *in)
{
    __shared__ alignas(16) float wide[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        wide[i] = __half2float(in[i]); //~
#ifdef FIXED
    ptx::fence_proxy_async(ptx::space_shared);
#endif
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, wide, sizeof wide); //~
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}

int main()
{
    auto in = Array<__half>::of(256, [](int i) { return __half(float(i)); });
    Array<float> out(256);
    state<<<1, 64>>>(out.device, in.device);
    compare("state", out, 256, [](int i) { return float(i); });
}
