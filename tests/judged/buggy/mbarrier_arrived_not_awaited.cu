// Everybody arrives, nobody waits: an arrival says what its thread has done, and lets it learn nothing.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:uninitialized
// expect: data-race

#include <cuda/barrier>

__global__ void reverse(int *out)
{
    __shared__ int tile[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> ready;
    int t = threadIdx.x;
    tile[t] = 0;
    if (t == 0)
        init(&ready, 64);
    __syncthreads();
    tile[t] = t; //~ data-race#1 write
    auto token = ready.arrive();
    out[t] = tile[63 - t]; //~ data-race#1 read
    ready.wait(static_cast<decltype(token) &&>(token));
}
