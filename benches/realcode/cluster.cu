// Clusters: cooperative groups' cluster group, shared memory of other blocks, barriers of the cluster in two halves, mbarriers of other blocks, launches with
// the attribute and by `__cluster_dims__`, occupancy.

#include "compare.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/barrier>
#include <cuda/ptx>

namespace cg = cooperative_groups;

constexpr int THREADS = 128;
constexpr int BINS = 256;

// A histogram whose bins are spread over the blocks of a cluster.
__global__ void histogram(int *bins, const int *data, int n) {
    extern __shared__ int own[];
    auto cluster = cg::this_cluster();
    int each = BINS / cluster.num_blocks();
    for (int i = threadIdx.x; i < each; i += blockDim.x)
        own[i] = 0;
    cluster.sync();
    for (int i = cluster.thread_rank() + blockIdx.x / cluster.num_blocks() * cluster.num_threads(); i < n; i += gridDim.x * blockDim.x) {
        int bin = data[i];
        atomicAdd(cluster.map_shared_rank(own, bin / each) + bin % each, 1);
    }
    cluster.sync();
    for (int i = threadIdx.x; i < each; i += blockDim.x)
        atomicAdd(bins + cluster.block_rank() * each + i, own[i]);
}

// Each block reads its right neighbour's values; barriers in two halves around other work.
__global__ void __cluster_dims__(4, 1, 1) ring(int *out, int rounds) {
    __shared__ int tile[2][THREADS];
    auto cluster = cg::this_cluster();
    int t = threadIdx.x, rank = cluster.block_rank(), value = blockIdx.x * THREADS + t;
    for (int round = 0; round < rounds; ++round) {
        tile[round % 2][t] = value;
        auto token = cluster.barrier_arrive();
        int own = value * 2;
        cluster.barrier_wait(std::move(token));
        const int *other = cluster.map_shared_rank(&tile[round % 2][t], (rank + 1) % cluster.num_blocks());
        value = own + *other;
    }
    cluster.sync();
    out[blockIdx.x * THREADS + t] = value;
}

// The first block of each cluster waits until the others have sent it a word each, with bytes that its mbarrier counts.
__global__ void __cluster_dims__(4, 1, 1) sent(int *out) {
    __shared__ alignas(16) int words[4 * 32];
    __shared__ alignas(8) uint64_t ready;
    auto cluster = cg::this_cluster();
    int rank = cluster.block_rank(), t = threadIdx.x;
    if (t == 0) {
        cuda::ptx::mbarrier_init(&ready, 1);
        cuda::ptx::fence_mbarrier_init(cuda::ptx::sem_release, cuda::ptx::scope_cluster);
        if (rank == 0)
            cuda::ptx::mbarrier_arrive_expect_tx(cuda::ptx::sem_release, cuda::ptx::scope_cta, cuda::ptx::space_shared, &ready, 4 * 32 * sizeof(int));
    }
    cluster.sync();
    int *word = cluster.map_shared_rank(&words[rank * 32 + t], 0);
    auto *there = cluster.map_shared_rank(&ready, 0);
    cuda::ptx::st_async(word, rank * 1000 + t, there);
    if (rank == 0) {
        while (!cuda::ptx::mbarrier_try_wait_parity(&ready, 0)) {
        }
        for (int k = 0; k < 4; ++k)
            out[blockIdx.x / 4 * 128 + k * 32 + t] = words[k * 32 + t];
    }
    cluster.sync();
}

__global__ void shape(int *out) {
    auto cluster = cg::this_cluster();
    if (threadIdx.x == 0) {
        dim3 size = cluster.dim_blocks(), at = cluster.block_index();
        out[blockIdx.y * gridDim.x + blockIdx.x] = size.x * 1000 + size.y * 100 + at.x * 10 + at.y;
    }
}

template <class... Formal, class... Actual>
void launch(void (*kernel)(Formal...), dim3 grid, dim3 block, dim3 cluster, size_t shared, Actual... actual) {
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = cluster.x;
    attribute.val.clusterDim.y = cluster.y;
    attribute.val.clusterDim.z = cluster.z;
    config.attrs = &attribute;
    config.numAttrs = 1;
    int clusters = 0;
    CALL(cudaOccupancyMaxActiveClusters(&clusters, kernel, &config));
    if (clusters < 1)
        std::printf("no cluster fits: wrong\n");
    CALL(cudaLaunchKernelEx(&config, kernel, actual...));
}

int main() {
    constexpr int N = 3000;
    auto data = Array<int>::of(N, [](int i) { return int(scatter(i) % BINS); });
    for (int blocks : {1, 2, 4, 8}) {
        Array<int> bins(BINS);
        launch(histogram, 8, THREADS, blocks, BINS / blocks * sizeof(int), bins.device, (const int *)data.device, N);
        char what[40];
        std::snprintf(what, sizeof what, "histogram, clusters of %d", blocks);
        compare(what, bins, BINS, [&](int bin) {
            int count = 0;
            for (int x : data.host)
                count += x == bin;
            return count;
        });
    }
    CALL(cudaFuncSetAttribute(shape, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    Array<int> out(8 * THREADS);
    ring<<<8, THREADS>>>(out.device, 3);
    compare("ring", out, 8 * THREADS, [](int i) {
        auto value = [](auto &self, int rank, int round, int base) -> int {
            if (round == 0)
                return base + rank * THREADS;
            return self(self, rank, round - 1, base) * 2 + self(self, (rank + 1) % 4, round - 1, base);
        };
        return value(value, i / THREADS % 4, 3, i / (4 * THREADS) * 4 * THREADS + i % THREADS);
    });
    sent<<<8, 32>>>(out.device);
    compare("st.async", out, 256, [](int i) { return i % 128 / 32 * 1000 + i % 32; });
    launch(shape, dim3(8, 4), 32, dim3(4, 2), 0, out.device);
    compare("two-dimensional clusters", out, 32, [](int i) { return 4000 + 200 + i % 8 % 4 * 10 + i / 8 % 2; });
    launch(shape, dim3(16, 1), 32, dim3(16, 1), 0, out.device);
    compare("sixteen blocks", out, 16, [](int i) { return 16000 + 100 + i * 10; });
    return wrong != 0;
}
