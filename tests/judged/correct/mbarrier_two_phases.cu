// All threads arrive and wait, twice: the second phase lets the tile be written again.
//
// flags: --grid 2 --block 64 --arg 0=i32[128]:uninitialized
// expect: clean

#include <cuda/barrier>

__global__ void twice(int *out)
{
    __shared__ int tile[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> ready;
    int t = threadIdx.x;
    if (t == 0)
        init(&ready, 64);
    __syncthreads();
    int sum = 0;
    for (int round = 0; round < 3; ++round) {
        tile[t] = t * round;
        ready.arrive_and_wait();
        sum += tile[63 - t];
        ready.arrive_and_wait();
    }
    out[64 * blockIdx.x + t] = sum;
}
