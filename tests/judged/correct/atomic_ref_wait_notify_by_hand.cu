// A flag by cuda::atomic_ref: release by one block, acquire by the other.
//
// flags: --grid 2 --block 32 --arg 0=i32[32]:uninitialized --arg 1=i32[32]:uninitialized --arg 2=i32[1]:zeros
// expect: clean

#include <cuda/atomic>

__global__ void pass(int *out, int *data, int *flag)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = t * t;
        __syncthreads();
        if (t == 0)
            ready.store(1, cuda::memory_order_release);
    } else {
        if (t == 0)
            while (ready.load(cuda::memory_order_acquire) == 0) {}
        __syncthreads();
        out[t] = data[t];
    }
}
