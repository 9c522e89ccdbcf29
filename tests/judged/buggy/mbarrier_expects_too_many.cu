// Half of the threads arrive, and all are expected: the phase never completes.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:uninitialized --max-steps 200000
// expect: deadlock

#include <cuda/barrier>

__global__ void halves(int *out)
{
    __shared__ int tile[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> ready;
    int t = threadIdx.x;
    if (t == 0)
        init(&ready, 64);
    __syncthreads();
    tile[t] = t;
    if (t < 32)
        ready.arrive_and_wait(); //~ deadlock wait
    out[t] = tile[t];
}
