// The reduction of the last warp unrolled by a template, through volatile shared memory and no warp barrier.
//
// flags: --entry total --grid 1 --block 64 --arg 0=i32[1]:uninitialized --arg 1=i32[64]:iota
// expect: lockstep-assumption

template <int N> __device__ void last_warp(volatile int *tile, int t)
{
    if (t < N)
        tile[t] += tile[t + N]; //~ lockstep-assumption read write
    if constexpr (N > 1)
        last_warp<N / 2>(tile, t);
}

extern "C" __global__ void total(int *out, const int *in)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = in[t];
    __syncthreads();
    if (t < 32)
        last_warp<32>(tile, t);
    if (t == 0)
        *out = tile[0];
}
