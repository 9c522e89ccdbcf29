// A pipeline of the block: one warp copies, the other uses what it has copied. At the end one lane for each warp destroys the barriers inside.
//
// flags: --grid 1 --block 64 --arg 0=i32[32]:uninitialized --arg 1=i32[256]:iota
// expect: clean

#include <cooperative_groups.h>
#include <cuda/pipeline>

__global__ void sums(int *out, const int *in)
{
    __shared__ int stage[2][32];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> shared;
    auto block = cooperative_groups::this_thread_block();
    int lane = threadIdx.x % 32;
    bool copies = threadIdx.x >= 32;
    auto role = copies ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto pipe = cuda::make_pipeline(block, &shared, role);
    if (copies) {
        for (int round = 0; round < 8; ++round) {
            pipe.producer_acquire();
            cuda::memcpy_async(&stage[round % 2][lane], &in[32 * round + lane], cuda::aligned_size_t<4>(4), pipe);
            pipe.producer_commit();
        }
    } else {
        int sum = 0;
        for (int round = 0; round < 8; ++round) {
            pipe.consumer_wait();
            sum += stage[round % 2][31 - lane];
            pipe.consumer_release();
        }
        out[lane] = sum;
    }
}
