// Copies that arrive at a barrier when they are complete, and threads that wait there for all of them.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:uninitialized --arg 1=i32[64]:iota
// expect: clean

#include <cuda/barrier>

__global__ void reverse(int *out, const int *in)
{
    __shared__ int tile[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> ready;
    int t = threadIdx.x;
    if (t == 0)
        init(&ready, 64);
    __syncthreads();
    cuda::memcpy_async(&tile[t], &in[t], cuda::aligned_size_t<4>(4), ready);
    ready.arrive_and_wait();
    out[t] = tile[63 - t];
}
