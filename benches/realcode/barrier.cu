// `cuda::barrier` in all scopes and with all ways to arrive and to wait; latches and semaphores.

#include "compare.h"

#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/std/barrier>

constexpr int THREADS = 128;
constexpr int BLOCKS = 4;

// Neighbours' values are exchanged through `tile`, once a round, with two ways to wait.
__global__ void exchange(int *out, int rounds, bool split) {
    __shared__ int tile[THREADS];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> ready;
    int t = threadIdx.x;
    if (t == 0)
        init(&ready, blockDim.x);
    __syncthreads();
    int value = t;
    for (int round = 0; round < rounds; ++round) {
        tile[t] = value;
        if (split) {
            auto token = ready.arrive();
            ready.wait(std::move(token));
        } else {
            ready.arrive_and_wait();
        }
        value += tile[(t + 1) % blockDim.x];
        ready.arrive_and_wait();
    }
    out[blockIdx.x * blockDim.x + t] = value;
}

// A warp produces, the others consume; two barriers a stage, waited for by parity.
__global__ void producer_consumer(int *out, const int *in, int steps) {
    using Barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ int stage[2][32];
    __shared__ Barrier full[2], empty[2];
    int t = threadIdx.x;
    if (t < 2) {
        init(&full[t], 32);
        init(&empty[t], blockDim.x - 32);
    }
    __syncthreads();
    if (t < 32) {
        for (int step = 0; step < steps; ++step) {
            int which = step % 2;
            if (step >= 2)
                empty[which].wait_parity((step / 2 - 1) & 1);
            stage[which][t] = in[step * 32 + t];
            (void)full[which].arrive();
        }
    } else {
        int sum = 0;
        for (int step = 0; step < steps; ++step) {
            int which = step % 2;
            full[which].wait_parity((step / 2) & 1);
            sum += stage[which][t % 32];
            (void)empty[which].arrive();
        }
        out[t - 32] = sum;
    }
}

// Each round one more thread drops out.
__global__ void dropping(int *out) {
    __shared__ cuda::barrier<cuda::thread_scope_block> ready;
    __shared__ int count;
    int t = threadIdx.x;
    if (t == 0) {
        init(&ready, blockDim.x);
        count = 0;
    }
    __syncthreads();
    for (int round = 0; round < 8; ++round) {
        if (t == round) {
            ready.arrive_and_drop();
            return;
        }
        if (t == 31 + round)
            count += round;
        ready.arrive_and_wait();
    }
    if (t == 64)
        *out = count;
}

// The last to arrive runs a function before the others go on.
struct Double {
    int *sum;
    __device__ void operator()() noexcept { *sum *= 2; }
};

__global__ void completion(int *out) {
    __shared__ int sum;
    __shared__ alignas(cuda::barrier<cuda::thread_scope_block, Double>) char place[sizeof(cuda::barrier<cuda::thread_scope_block, Double>)];
    auto *ready = reinterpret_cast<cuda::barrier<cuda::thread_scope_block, Double> *>(place);
    if (threadIdx.x == 0) {
        sum = 1;
        new (ready) cuda::barrier<cuda::thread_scope_block, Double>(blockDim.x, Double{&sum});
    }
    __syncthreads();
    for (int round = 0; round < 5; ++round)
        ready->arrive_and_wait();
    if (threadIdx.x == 0)
        *out = sum;
}

// Bounded waits, and tests.
__global__ void bounded(int *out) {
    __shared__ cuda::barrier<cuda::thread_scope_block> ready;
    __shared__ int value;
    if (threadIdx.x == 0)
        init(&ready, blockDim.x);
    __syncthreads();
    if (threadIdx.x == 37)
        value = 5;
    auto token = ready.arrive();
    while (!ready.try_wait_for(cuda::barrier<cuda::thread_scope_block>::arrival_token(token), cuda::std::chrono::nanoseconds(100))) {
    }
    out[threadIdx.x] = value;
}

// Barriers in global memory: blocks exchange values through `cells`.
template <cuda::thread_scope SCOPE> __global__ void across_blocks(cuda::barrier<SCOPE> *ready, int *cells, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
    int value = i;
    for (int round = 0; round < 3; ++round) {
        cells[i] = value;
        ready->arrive_and_wait();
        value += cells[(i + blockDim.x) % all];
        ready->arrive_and_wait();
    }
    out[i] = value;
}

template <class Barrier> __global__ void make(Barrier *at, int count) {
    new (at) Barrier(count);
}

__global__ void standard(int *out) {
    __shared__ alignas(cuda::std::barrier<>) char place[sizeof(cuda::std::barrier<>)];
    auto *ready = reinterpret_cast<cuda::std::barrier<> *>(place);
    __shared__ int value;
    if (threadIdx.x == 0)
        new (ready) cuda::std::barrier<>(blockDim.x);
    __syncthreads();
    if (threadIdx.x == 0)
        value = 9;
    ready->arrive_and_wait();
    out[threadIdx.x] = value;
}

// Workers count down, one thread waits for all.
__global__ void latch(cuda::latch<cuda::thread_scope_device> *done, int *cells, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    cells[i] = i;
    done->count_down();
    if (i == 0) {
        done->wait();
        int sum = 0;
        for (int k = 0; k < gridDim.x * blockDim.x; ++k)
            sum += cells[k];
        *out = sum;
    }
}

__global__ void semaphore(cuda::binary_semaphore<cuda::thread_scope_device> *lock, int *count) {
    if (threadIdx.x == 0) {
        lock->acquire();
        *count += blockIdx.x;
        lock->release();
    }
}

int main() {
    Array<int> out(THREADS * BLOCKS), cells(THREADS * BLOCKS);
    auto exchanged = [](int rounds, int width, int distance) {
        std::vector<int> value(width);
        for (int i = 0; i < width; ++i)
            value[i] = i;
        for (int round = 0; round < rounds; ++round) {
            auto old = value;
            for (int i = 0; i < width; ++i)
                value[i] = old[i] + old[(i + distance) % width];
        }
        return value;
    };
    for (bool split : {false, true}) {
        exchange<<<BLOCKS, THREADS>>>(out.device, 4, split);
        auto wanted = exchanged(4, THREADS, 1);
        compare(split ? "arrive, wait" : "arrive_and_wait", out, THREADS * BLOCKS, [&](int i) { return wanted[i % THREADS]; });
    }
    auto in = Array<int>::of(32 * 9, [](int i) { return int(scatter(i)) % 100; });
    producer_consumer<<<1, THREADS>>>(out.device, in.device, 9);
    compare("wait_parity", out, THREADS - 32, [&](int i) {
        int sum = 0;
        for (int step = 0; step < 9; ++step)
            sum += in.host[step * 32 + i % 32];
        return sum;
    });
    dropping<<<1, THREADS>>>(out.device);
    compare("arrive_and_drop", out, 1, [](int) { return 28; });
    completion<<<1, THREADS>>>(out.device);
    compare("completion function", out, 1, [](int) { return 32; });
    bounded<<<1, THREADS>>>(out.device);
    compare("try_wait_for", out, THREADS, [](int) { return 5; });
    standard<<<1, THREADS>>>(out.device);
    compare("cuda::std::barrier", out, THREADS, [](int) { return 9; });
    auto wanted = exchanged(3, THREADS * BLOCKS, THREADS);
    void *place;
    CALL(cudaMalloc(&place, 256));
    auto *device = static_cast<cuda::barrier<cuda::thread_scope_device> *>(place);
    make<<<1, 1>>>(device, THREADS * BLOCKS);
    across_blocks<<<BLOCKS, THREADS>>>(device, cells.device, out.device);
    compare("thread_scope_device", out, THREADS * BLOCKS, [&](int i) { return wanted[i]; });
    auto *system = static_cast<cuda::barrier<cuda::thread_scope_system> *>(place);
    make<<<1, 1>>>(system, THREADS * BLOCKS);
    across_blocks<<<BLOCKS, THREADS>>>(system, cells.device, out.device);
    compare("thread_scope_system", out, THREADS * BLOCKS, [&](int i) { return wanted[i]; });
    auto *done = static_cast<cuda::latch<cuda::thread_scope_device> *>(place);
    make<<<1, 1>>>(done, THREADS * BLOCKS);
    latch<<<BLOCKS, THREADS>>>(done, cells.device, out.device);
    compare("latch", out, 1, [](int) { return THREADS * BLOCKS * (THREADS * BLOCKS - 1) / 2; });
    auto *lock = static_cast<cuda::binary_semaphore<cuda::thread_scope_device> *>(place);
    make<<<1, 1>>>(lock, 1);
    CALL(cudaMemset(cells.device, 0, sizeof(int)));
    semaphore<<<BLOCKS, THREADS>>>(lock, cells.device);
    compare("binary_semaphore", cells, 1, [](int) { return BLOCKS * (BLOCKS - 1) / 2; });
    CALL(cudaFree(place));
    return wrong != 0;
}
