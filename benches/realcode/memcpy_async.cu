// `cuda::memcpy_async` and cooperative groups' `memcpy_async`, with every size and alignment that chooses another way to copy.

#include "compare.h"

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>

namespace cg = cooperative_groups;

constexpr int THREADS = 96;
constexpr int TILE = 384;

using Barrier = cuda::barrier<cuda::thread_scope_block>;

// Each thread copies elements of its own.
template <class T> __global__ void by_threads(T *out, const T *in, int n) {
    __shared__ T tile[THREADS];
    __shared__ Barrier ready;
    int t = threadIdx.x;
    if (t == 0)
        init(&ready, blockDim.x);
    __syncthreads();
    for (int base = 0; base < n; base += THREADS) {
        cuda::memcpy_async(&tile[t], in + base + t, sizeof(T), ready);
        ready.arrive_and_wait();
        out[base + t] = tile[THREADS - 1 - t];
        __syncthreads();
    }
}

// The block copies a tile together; the size may be known to be a multiple of 4 or 16 bytes.
template <class Size> __global__ void by_the_block(int *out, const int *in, Size bytes) {
    __shared__ alignas(128) int tile[TILE];
    __shared__ Barrier ready;
    auto block = cg::this_thread_block();
    if (block.thread_rank() == 0)
        init(&ready, block.size());
    block.sync();
    cuda::memcpy_async(block, tile, in, bytes, ready);
    ready.arrive_and_wait();
    for (int i = block.thread_rank(); i < TILE; i += block.size())
        out[i] = tile[TILE - 1 - i];
}

// Groups: the block or a warp copies; all but the newest copy is waited for.
__global__ void of_groups(int *out, const int *in, int tiles) {
    __shared__ alignas(16) int stage[2][TILE];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, stage[0], in, sizeof(int) * TILE);
    for (int tile = 0; tile < tiles; ++tile) {
        if (tile + 1 < tiles) {
            cg::memcpy_async(block, stage[(tile + 1) % 2], size_t(TILE), in + (tile + 1) * TILE, size_t(TILE));
            cg::wait_prior<1>(block);
        } else {
            cg::wait(block);
        }
        for (int i = block.thread_rank(); i < TILE; i += block.size())
            out[tile * TILE + i] = stage[tile % 2][TILE - 1 - i];
        block.sync();
    }
}

__global__ void of_warps(int *out, const int *in) {
    __shared__ alignas(16) int tile[THREADS];
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int base = warp.meta_group_rank() * 32;
    cg::memcpy_async(warp, tile + base, in + base, cuda::aligned_size_t<16>(sizeof(int) * 32));
    cg::wait(warp);
    out[base + warp.thread_rank()] = tile[base + 31 - warp.thread_rank()];
}

// From shared to global memory, and from shared to shared: copied at once.
__global__ void other_ways(int *out, const int *in) {
    __shared__ int first[THREADS], second[THREADS];
    __shared__ Barrier ready;
    auto block = cg::this_thread_block();
    if (threadIdx.x == 0)
        init(&ready, blockDim.x);
    first[threadIdx.x] = in[threadIdx.x];
    block.sync();
    cuda::memcpy_async(block, second, first, sizeof(first), ready);
    ready.arrive_and_wait();
    second[threadIdx.x] += 1;
    block.sync();
    cuda::memcpy_async(block, out, second, sizeof(second), ready);
    ready.arrive_and_wait();
}

struct Three {
    int x, y, z;
    bool operator==(const Three &other) const { return x == other.x && y == other.y && z == other.z; }
};

template <class T, class Each> void each_thread(const char *what, Each each) {
    auto in = Array<T>::of(THREADS * 3, each);
    Array<T> out(THREADS * 3);
    by_threads<<<1, THREADS>>>(out.device, in.device, THREADS * 3);
    compare(what, out, THREADS * 3, [&](int i) { return in.host[i / THREADS * THREADS + THREADS - 1 - i % THREADS]; });
}

int main() {
    each_thread<char>("1 byte", [](int i) { return char(scatter(i)); });
    each_thread<short>("2 bytes", [](int i) { return short(scatter(i)); });
    each_thread<int>("4 bytes", [](int i) { return int(scatter(i)); });
    each_thread<long long>("8 bytes", [](int i) { return (long long)scatter(i) << 20; });
    each_thread<Three>("12 bytes", [](int i) { return Three{i, i * 2, i * 3}; });

    auto in = Array<int>::of(TILE * 4, [](int i) { return int(scatter(i)); });
    Array<int> out(TILE * 4);
    auto reversed = [&](int i) { return in.host[TILE - 1 - i]; };
    by_the_block<<<1, THREADS>>>(out.device, in.device, sizeof(int) * TILE);
    compare("block, any size", out, TILE, reversed);
    by_the_block<<<1, THREADS>>>(out.device, in.device, cuda::aligned_size_t<4>(sizeof(int) * TILE));
    compare("block, multiple of 4", out, TILE, reversed);
    by_the_block<<<1, THREADS>>>(out.device, in.device, cuda::aligned_size_t<16>(sizeof(int) * TILE));
    compare("block, multiple of 16", out, TILE, reversed);
    by_the_block<<<1, THREADS>>>(out.device, in.device + 1, cuda::aligned_size_t<4>(sizeof(int) * TILE));
    compare("block, source not aligned to 16", out, TILE, [&](int i) { return in.host[TILE - i]; });
    of_groups<<<1, THREADS>>>(out.device, in.device, 4);
    compare("groups, wait_prior", out, TILE * 4, [&](int i) { return in.host[i / TILE * TILE + TILE - 1 - i % TILE]; });
    of_warps<<<1, THREADS>>>(out.device, in.device);
    compare("groups, a warp", out, THREADS, [&](int i) { return in.host[i / 32 * 32 + 31 - i % 32]; });
    other_ways<<<1, THREADS>>>(out.device, in.device);
    compare("shared to shared to global", out, THREADS, [&](int i) { return in.host[i] + 1; });
    return wrong != 0;
}
