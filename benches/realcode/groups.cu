// Cooperative groups: tiles of every size, coalesced and partitioned groups, reductions and scans, barriers in two halves, the grid.

#include "compare.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

constexpr int THREADS = 256;

template <unsigned SIZE> __global__ void tiles(int *out, const int *in) {
    auto tile = cg::tiled_partition<SIZE>(cg::this_thread_block());
    int i = threadIdx.x, value = in[i];
    int sum = cg::reduce(tile, value, cg::plus<int>());
    int largest = cg::reduce(tile, value, cg::greater<int>());
    int bits = cg::reduce(tile, value, cg::bit_xor<int>());
    int before = cg::exclusive_scan(tile, value);
    int until = cg::inclusive_scan(tile, value, cg::plus<int>());
    out[i] = sum ^ largest * 3 ^ bits * 5 ^ before * 7 ^ until * 11;
}

// Tiles of several warps meet through memory that the kernel provides.
template <unsigned SIZE> __global__ void large_tiles(int *out, const int *in) {
    __shared__ cg::block_tile_memory<THREADS> memory;
    auto block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<SIZE>(block);
    int i = threadIdx.x, value = in[i];
    int sum = cg::reduce(tile, value, cg::plus<int>());
    int largest = cg::reduce(tile, value, cg::greater<int>());
    int bits = cg::reduce(tile, value, cg::bit_xor<int>());
    int before = cg::exclusive_scan(tile, value);
    int until = cg::inclusive_scan(tile, value, cg::plus<int>());
    out[i] = sum ^ largest * 3 ^ bits * 5 ^ before * 7 ^ until * 11;
}

__global__ void coalesced(int *out, const int *in) {
    int i = threadIdx.x, value = in[i];
    out[i] = 0;
    if (value % 3 == 0) {
        auto group = cg::coalesced_threads();
        int sum = cg::reduce(group, value, cg::plus<int>());
        int until = cg::inclusive_scan(group, value);
        out[i] = sum + until * 3 + group.size();
    }
}

__global__ void partitions(int *out, const int *in) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int i = threadIdx.x, value = in[i];
    auto halves = cg::binary_partition(warp, value % 2 == 0);
    auto labels = cg::labeled_partition(warp, value % 5);
    out[i] = cg::reduce(halves, value, cg::plus<int>()) + 3 * cg::reduce(labels, value, cg::plus<int>());
}

// Sums of all groups end in one cell, in three ways.
__global__ void updates(int *cells, int *places, const int *in) {
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    int value = in[block.group_index().x * block.size() + block.thread_rank()];
    cuda::atomic_ref<int, cuda::thread_scope_device> sum(cells[0]), end(cells[1]);
    cg::reduce_update_async(warp, sum, value, cg::plus<int>());
    int place = cg::exclusive_scan_update(warp, end, value % 4, cg::plus<int>());
    for (int k = 0; k < value % 4; ++k)
        places[place + k] = 1;
    cg::reduce_store_async(warp, cells + 2 + block.group_index().x * warp.meta_group_size() + warp.meta_group_rank(), value, cg::plus<int>());
}

__global__ void invoked(int *count, int *out) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int ticket = cg::invoke_one_broadcast(warp, [&] { return atomicAdd(count, 1); });
    atomicAdd(out + ticket, 1);
    cg::invoke_one(warp, [&] { atomicAdd(count + 1, 1); });
}

__global__ void two_halves(int *out) {
    __shared__ int tile[THREADS];
    auto block = cg::this_thread_block();
    int t = block.thread_rank();
    tile[t] = t;
    auto token = block.barrier_arrive();
    int other = t * 2;
    block.barrier_wait(std::move(token));
    out[t] = tile[THREADS - 1 - t] + other;
}

__global__ void whole_grid(int *a, int *b, int rounds) {
    auto grid = cg::this_grid();
    int i = grid.thread_rank(), n = grid.size();
    for (int round = 0; round < rounds; ++round) {
        b[i] = a[(i + 1) % n] + 1;
        if (round % 2) {
            auto token = grid.barrier_arrive();
            grid.barrier_wait(std::move(token));
        } else {
            grid.sync();
        }
        int *swap = a;
        a = b;
        b = swap;
    }
}

// What `tiles` computes.
int of_tile(const std::vector<int> &in, int i, int size) {
    int base = i / size * size, sum = 0, largest = in[base], bits = 0, before = 0;
    for (int k = base; k < base + size; ++k) {
        sum += in[k];
        largest = in[k] > largest ? in[k] : largest;
        bits ^= in[k];
        before += k < i ? in[k] : 0;
    }
    return sum ^ largest * 3 ^ bits * 5 ^ before * 7 ^ (before + in[i]) * 11;
}

template <unsigned SIZE> void tile(Array<int> &out, Array<int> &in) {
    char what[32];
    std::snprintf(what, sizeof what, "tiles of %u", SIZE);
    if constexpr (SIZE <= 32)
        tiles<SIZE><<<1, THREADS>>>(out.device, in.device);
    else
        large_tiles<SIZE><<<1, THREADS>>>(out.device, in.device);
    compare(what, out, THREADS, [&](int i) { return of_tile(in.host, i, SIZE); });
}

int main() {
    Array<int> out(THREADS * 8);
    auto in = Array<int>::of(THREADS * 4, [](int i) { return int(scatter(i) % 1000); });
    tile<1>(out, in);
    tile<2>(out, in);
    tile<4>(out, in);
    tile<8>(out, in);
    tile<16>(out, in);
    tile<32>(out, in);
    tile<64>(out, in);
    tile<128>(out, in);
    tile<256>(out, in);
    coalesced<<<1, THREADS>>>(out.device, in.device);
    compare("coalesced_threads", out, THREADS, [&](int i) {
        int sum = 0, until = 0, size = 0;
        for (int k = i / 32 * 32; k < i / 32 * 32 + 32; ++k)
            if (in.host[k] % 3 == 0) {
                sum += in.host[k];
                until += k <= i ? in.host[k] : 0;
                ++size;
            }
        return in.host[i] % 3 ? 0 : sum + until * 3 + size;
    });
    partitions<<<1, THREADS>>>(out.device, in.device);
    compare("binary and labeled partition", out, THREADS, [&](int i) {
        int halves = 0, labels = 0;
        for (int k = i / 32 * 32; k < i / 32 * 32 + 32; ++k) {
            halves += in.host[k] % 2 == in.host[i] % 2 ? in.host[k] : 0;
            labels += in.host[k] % 5 == in.host[i] % 5 ? in.host[k] : 0;
        }
        return halves + 3 * labels;
    });
    Array<int> cells(2 + 4 * 8), places(THREADS * 4 * 4);
    updates<<<4, THREADS>>>(cells.device, places.device, in.device);
    int all = 0, taken = 0;
    for (int x : in.host) {
        all += x;
        taken += x % 4;
    }
    compare("reduce_update_async, reduce_store_async", cells, cells.host.size(), [&](int i) {
        if (i < 2)
            return i ? taken : all;
        int sum = 0;
        for (int k = 0; k < 32; ++k)
            sum += in.host[(i - 2) * 32 + k];
        return sum;
    });
    compare("exclusive_scan_update", places, places.host.size(), [&](int i) { return int(i < taken); });
    Array<int> counts(2), tickets(THREADS / 32);
    invoked<<<1, THREADS>>>(counts.device, tickets.device);
    compare("invoke_one_broadcast", tickets, THREADS / 32, [](int) { return 32; });
    compare("invoke_one", counts, 2, [](int) { return THREADS / 32; });
    two_halves<<<1, THREADS>>>(out.device);
    compare("barrier_arrive, barrier_wait of a block", out, THREADS, [](int t) { return THREADS - 1 - t + 2 * t; });
    Array<int> a(THREADS * 4), b(THREADS * 4);
    int rounds = 4;
    void *arguments[] = {&a.device, &b.device, &rounds};
    CALL(cudaLaunchCooperativeKernel(whole_grid, dim3(4), dim3(THREADS), arguments, 0, nullptr));
    compare("grid", a, a.host.size(), [](int) { return 4; });
    return wrong != 0;
}
