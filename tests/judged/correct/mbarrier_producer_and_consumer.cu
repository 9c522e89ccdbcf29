// One warp fills a buffer, the other empties it. Two barriers say when it is full and when it is empty; who only arrives goes on.
//
// flags: --grid 1 --block 64 --arg 0=i32[128]:uninitialized
// expect: clean

#include <cuda/barrier>

using Barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void hand_over(int *out)
{
    __shared__ int buffer[32];
    __shared__ Barrier full, empty;
    int t = threadIdx.x;
    if (t == 0) {
        init(&full, 64);
        init(&empty, 64);
    }
    __syncthreads();
    int lane = t % 32;
    if (t < 32) {
        for (int round = 0; round < 4; ++round) {
            buffer[31 - lane] = 100 * round + lane;
            (void)full.arrive();
            empty.arrive_and_wait();
        }
    } else {
        for (int round = 0; round < 4; ++round) {
            full.arrive_and_wait();
            out[32 * round + lane] = buffer[lane];
            (void)empty.arrive();
        }
    }
}
