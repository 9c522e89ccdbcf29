// NVIDIA/Fuser#5448: a loop writes its result to one tile and begins a bulk store of it, and waits for the stores only behind the loop.
// told: async-copy-hazard
#include "../compare.h"
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void rows(int *out, const int *in, int count)
{
    __shared__ alignas(16) int tile[64];
    int t = threadIdx.x;
    for (int row = 0; row < count; ++row) {
        tile[t] = in[row * 64 + t] + row; //~
        ptx::fence_proxy_async(ptx::space_shared);
        __syncthreads();
        if (t == 0) {
            ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + row * 64, tile, sizeof tile); //~
            ptx::cp_async_bulk_commit_group();
#ifdef FIXED
            ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
#endif
        }
        __syncthreads();
    }
    if (t == 0)
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
}

int main()
{
    auto in = Array<int>::of(64 * 4, [](int i) { return i; });
    Array<int> out(64 * 4);
    rows<<<1, 64>>>(out.device, in.device, 4);
    compare("rows", out, 64 * 4, [](int i) { return i + i / 64; });
}
