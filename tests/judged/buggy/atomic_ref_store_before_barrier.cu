// A flag by cuda::atomic_ref is raised by one thread before the others of its block have written.
//
// flags: --grid 2 --block 32 --arg 0=i32[32]:uninitialized --arg 1=i32[32]:zeros --arg 2=i32[1]:zeros
// expect: data-race

#include <cuda/atomic>

__global__ void pass(int *out, int *data, int *flag)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = t * t; //~ data-race write
        if (t == 0)
            ready.store(1, cuda::memory_order_release);
    } else {
        if (t == 0)
            while (ready.load(cuda::memory_order_acquire) == 0) {}
        __syncthreads();
        out[t] = data[t]; //~ data-race read
    }
}
