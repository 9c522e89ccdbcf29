// triton-lang/triton#10415: a bulk store is waited for until its source was read, and then a flag tells another block that the result is there.
// told: async-copy-hazard
#include "../compare.h"
#include <cuda/atomic>
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void message(int *out, int *data, int *flag, const int *in)
{
    __shared__ alignas(16) int tile[64];
    int t = threadIdx.x;
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
    if (blockIdx.x == 0) {
        tile[t] = in[t] + 1;
        ptx::fence_proxy_async(ptx::space_shared);
        __syncthreads();
        if (t == 0) {
            ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, data, tile, sizeof tile); //~
            ptx::cp_async_bulk_commit_group();
#ifdef FIXED
            ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
            asm volatile("fence.proxy.async.global;" ::: "memory");
#else
            ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
#endif
            ready.store(1, cuda::memory_order_release);
        }
    } else {
        if (t == 0)
            while (!ready.load(cuda::memory_order_acquire)) {
            }
        __syncthreads();
        out[t] = data[t]; //~
    }
}

int main()
{
    auto in = Array<int>::of(64, [](int i) { return i; });
    Array<int> out(64), data(64), flag(1);
    message<<<2, 64>>>(out.device, data.device, flag.device, in.device);
    compare("message", out, 64, [](int i) { return i + 1; });
}
