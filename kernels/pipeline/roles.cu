// The first warp copies tiles, the second one sums them, with `cuda::pipeline` between the two.

#include <cooperative_groups.h>
#include <cuda/pipeline>

constexpr int STAGES = 2;

__global__ void sum_tiles(int *out, const int *in, int tiles)
{
    __shared__ int stages[STAGES][32];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    auto block = cooperative_groups::this_thread_block();
    int lane = threadIdx.x % 32;
    auto role = threadIdx.x < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto pipe = cuda::make_pipeline(block, &state, role);
    in += blockIdx.x * tiles * 32;
    if (role == cuda::pipeline_role::producer) {
        for (int k = 0; k < tiles; k++) {
            pipe.producer_acquire();
#ifdef BUG_COMMITTED_EARLY
            pipe.producer_commit();
#endif
            cuda::memcpy_async(&stages[k % STAGES][lane], &in[k * 32 + lane], cuda::aligned_size_t<4>(4), pipe); //~[released-early, committed-early] data-race#1 write //~[committed-early] async-copy-hazard#1 copy, async-copy-hazard#2 copy
#ifndef BUG_COMMITTED_EARLY
            pipe.producer_commit();
#endif
        }
    } else {
        int sum = 0;
        for (int k = 0; k < tiles; k++) {
            pipe.consumer_wait();
#ifdef BUG_RELEASED_EARLY
            pipe.consumer_release();
#endif
            sum = 3 * sum + stages[k % STAGES][31 - lane]; //~[released-early, committed-early] data-race#1 read //~[committed-early] async-copy-hazard#1 read
#ifndef BUG_RELEASED_EARLY
            pipe.consumer_release();
#endif
        }
        out[blockIdx.x * 32 + lane] = sum;
    }
}

/// The same by one thread.
__global__ void sum_tiles_reference(int *out, const int *in, int tiles, int blocks)
{
    for (int i = 0; i < blocks * 32; i++) {
        int sum = 0;
        for (int k = 0; k < tiles; k++)
            sum = 3 * sum + in[(i / 32 * tiles + k) * 32 + 31 - i % 32];
        out[i] = sum;
    }
}
