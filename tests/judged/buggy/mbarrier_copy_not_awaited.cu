// The copies arrive at the barrier when they are complete, but the threads do not wait there.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:uninitialized --arg 1=i32[64]:iota
// expect: data-race

#include <cuda/barrier>

__global__ void reverse(int *out, const int *in)
{
    __shared__ int tile[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> ready;
    int t = threadIdx.x;
    tile[t] = 0;
    if (t == 0)
        init(&ready, 64);
    __syncthreads();
    cuda::memcpy_async(&tile[t], &in[t], cuda::aligned_size_t<4>(4), ready); //~ data-race#1 write
    auto token = ready.arrive();
    out[t] = tile[63 - t]; //~ data-race#1 read
    ready.wait(static_cast<decltype(token) &&>(token));
}
