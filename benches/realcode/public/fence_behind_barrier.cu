// pytorch/ao#4278: every thread fences, but behind the barrier, so that nothing orders the fences of others with the copy of thread 0.
// told: missing-proxy-fence
#include "../compare.h"
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void scaled(int *out, const int *in)
{
    __shared__ alignas(16) int tile[128];
    tile[threadIdx.x] = in[threadIdx.x] * 2; //~
#ifdef FIXED
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
#else
    __syncthreads();
    if (threadIdx.x > 0)
        ptx::fence_proxy_async(ptx::space_shared);
#endif
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, tile, sizeof tile); //~
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}

int main()
{
    auto in = Array<int>::of(128, [](int i) { return i; });
    Array<int> out(128);
    scaled<<<1, 128>>>(out.device, in.device);
    compare("scaled", out, 128, [](int i) { return 2 * i; });
}
