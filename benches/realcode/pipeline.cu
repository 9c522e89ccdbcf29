// `cuda::pipeline` of a thread, of a block (unified and by role) and in global memory; the primitives of <cuda_pipeline.h>.

#include "compare.h"

#include <cooperative_groups.h>
#include <cuda/pipeline>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;

constexpr int THREADS = 128;
constexpr int TILES = 7;

// Each thread has a pipeline of its own and copies its own element.
__global__ void of_a_thread(int *out, const int *in, int tiles) {
    constexpr int STAGES = 3;
    __shared__ int stage[STAGES][THREADS];
    auto pipe = cuda::make_pipeline();
    int t = threadIdx.x, sum = 0;
    for (int tile = 0, next = 0; tile < tiles; ++tile) {
        for (; next < tiles && next < tile + STAGES; ++next) {
            pipe.producer_acquire();
            cuda::memcpy_async(&stage[next % STAGES][t], in + next * THREADS + t, sizeof(int), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += stage[tile % STAGES][t];
        pipe.consumer_release();
    }
    out[t] = sum;
}

// The same with a wait for all but the newest stage.
__global__ void wait_prior(int *out, const int *in, int tiles) {
    __shared__ int stage[2][THREADS];
    auto pipe = cuda::make_pipeline();
    int t = threadIdx.x, sum = 0;
    pipe.producer_acquire();
    cuda::memcpy_async(&stage[0][t], in + t, sizeof(int), pipe);
    pipe.producer_commit();
    for (int tile = 1; tile < tiles; ++tile) {
        pipe.producer_acquire();
        cuda::memcpy_async(&stage[tile % 2][t], in + tile * THREADS + t, sizeof(int), pipe);
        pipe.producer_commit();
        cuda::pipeline_consumer_wait_prior<1>(pipe);
        sum += stage[(tile - 1) % 2][t];
        pipe.consumer_release();
    }
    cuda::pipeline_consumer_wait_prior<0>(pipe);
    sum += stage[(tiles - 1) % 2][t];
    pipe.consumer_release();
    out[t] = sum;
}

// All threads of the block copy and use each tile; neighbours' elements are read.
template <int STAGES> __global__ void of_a_block(int *out, const int *in, int tiles) {
    __shared__ alignas(16) int stage[STAGES][THREADS];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int t = threadIdx.x, sum = 0;
    for (int tile = 0, next = 0; tile < tiles; ++tile) {
        for (; next < tiles && next < tile + STAGES; ++next) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, stage[next % STAGES], in + next * THREADS, cuda::aligned_size_t<16>(sizeof(int) * THREADS), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += stage[tile % STAGES][(t + 1) % THREADS];
        pipe.consumer_release();
    }
    out[t] = sum;
}

// The first half of the block copies, the second half uses.
__global__ void by_role(int *out, const int *in, int tiles) {
    constexpr int STAGES = 2;
    __shared__ alignas(16) int stage[STAGES][THREADS / 2];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    auto block = cg::this_thread_block();
    bool producer = block.thread_rank() < THREADS / 2;
    auto pipe = cuda::make_pipeline(block, &state, producer ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
    int t = threadIdx.x % (THREADS / 2);
    if (producer) {
        for (int tile = 0; tile < tiles; ++tile) {
            pipe.producer_acquire();
            cuda::memcpy_async(&stage[tile % STAGES][t], in + tile * (THREADS / 2) + t, sizeof(int), pipe);
            pipe.producer_commit();
        }
    } else {
        int sum = 0;
        for (int tile = 0; tile < tiles; ++tile) {
            pipe.consumer_wait();
            sum += stage[tile % STAGES][(t + 5) % (THREADS / 2)];
            pipe.consumer_release();
        }
        out[t] = sum;
    }
}

// As many producers as the count says, ended by `quit`.
__global__ void by_count(int *out, const int *in, int tiles) {
    constexpr int STAGES = 4;
    __shared__ int stage[STAGES][32];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state, size_t(32));
    int t = threadIdx.x;
    if (t < 32) {
        for (int tile = 0; tile < tiles; ++tile) {
            pipe.producer_acquire();
            cuda::memcpy_async(&stage[tile % STAGES][t], in + tile * 32 + t, sizeof(int), pipe);
            pipe.producer_commit();
        }
        pipe.quit();
    } else {
        int sum = 0;
        for (int tile = 0; tile < tiles; ++tile) {
            pipe.consumer_wait();
            sum += stage[tile % STAGES][t % 32];
            pipe.consumer_release();
        }
        pipe.quit();
        out[t - 32] = sum;
    }
}

// The primitives, with the last bytes filled with zeros.
__global__ void primitives(int *out, const int *in, int tiles, int valid) {
    __shared__ alignas(16) int stage[2][THREADS * 4];
    int t = threadIdx.x, sum = 0;
    auto copy = [&](int tile) {
        int at = (tile * THREADS + t) * 4, left = max(0, min(4, valid - at));
        __pipeline_memcpy_async(&stage[tile % 2][t * 4], in + (left ? at : 0), 16, 16 - left * sizeof(int));
        __pipeline_commit();
    };
    copy(0);
    for (int tile = 0; tile < tiles; ++tile) {
        if (tile + 1 < tiles) {
            copy(tile + 1);
            __pipeline_wait_prior(1);
        } else {
            __pipeline_wait_prior(0);
        }
        __syncthreads();
        for (int k = 0; k < 4; ++k)
            sum += stage[tile % 2][(t * 4 + k + 9) % (THREADS * 4)];
        __syncthreads();
    }
    out[t] = sum;
}

// An mbarrier that the primitives arrive on.
__global__ void arrive_on(int *out, const int *in) {
    __shared__ int tile[THREADS];
    __shared__ __mbarrier_t ready;
    int t = threadIdx.x;
    if (t == 0)
        __mbarrier_init(&ready, THREADS);
    __syncthreads();
    __pipeline_memcpy_async(&tile[t], in + t, sizeof(int));
    __pipeline_arrive_on(&ready);
    __mbarrier_token_t token = __mbarrier_arrive(&ready);
    while (!__mbarrier_test_wait(&ready, token)) {
    }
    out[t] = tile[(t + 1) % THREADS];
}

int main() {
    Array<int> out(THREADS);
    auto in = Array<int>::of(THREADS * TILES * 4, [](int i) { return int(scatter(i) % 1000); });
    auto sum = [&](int width, int from) {
        int total = 0;
        for (int tile = 0; tile < TILES; ++tile)
            total += in.host[tile * width + from];
        return total;
    };
    of_a_thread<<<1, THREADS>>>(out.device, in.device, TILES);
    compare("pipeline of a thread", out, THREADS, [&](int t) { return sum(THREADS, t); });
    wait_prior<<<1, THREADS>>>(out.device, in.device, TILES);
    compare("pipeline_consumer_wait_prior", out, THREADS, [&](int t) { return sum(THREADS, t); });
    of_a_block<1><<<1, THREADS>>>(out.device, in.device, TILES);
    compare("pipeline of a block, 1 stage", out, THREADS, [&](int t) { return sum(THREADS, (t + 1) % THREADS); });
    of_a_block<2><<<1, THREADS>>>(out.device, in.device, TILES);
    compare("pipeline of a block, 2 stages", out, THREADS, [&](int t) { return sum(THREADS, (t + 1) % THREADS); });
    of_a_block<4><<<1, THREADS>>>(out.device, in.device, TILES);
    compare("pipeline of a block, 4 stages", out, THREADS, [&](int t) { return sum(THREADS, (t + 1) % THREADS); });
    by_role<<<1, THREADS>>>(out.device, in.device, TILES);
    compare("pipeline by role", out, THREADS / 2, [&](int t) { return sum(THREADS / 2, (t + 5) % (THREADS / 2)); });
    by_count<<<1, THREADS>>>(out.device, in.device, TILES);
    compare("pipeline by count", out, THREADS - 32, [&](int t) { return sum(32, t % 32); });
    int valid = THREADS * 4 * TILES - 301;
    primitives<<<1, THREADS>>>(out.device, in.device, TILES, valid);
    compare("primitives", out, THREADS, [&](int t) {
        int total = 0;
        for (int tile = 0; tile < TILES; ++tile)
            for (int k = 0; k < 4; ++k) {
                int at = tile * THREADS * 4 + (t * 4 + k + 9) % (THREADS * 4);
                total += at < valid ? in.host[at] : 0;
            }
        return total;
    });
    arrive_on<<<1, THREADS>>>(out.device, in.device);
    compare("__pipeline_arrive_on", out, THREADS, [&](int t) { return in.host[(t + 1) % THREADS]; });
    return wrong != 0;
}
