// The thread arrives first and writes then: what it writes is not what the others wait for.
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
    auto token = ready.arrive();
    tile[t] = t; //~ data-race#1 write
    ready.wait(static_cast<decltype(token) &&>(token));
    out[t] = tile[63 - t]; //~ data-race#1 read
}
