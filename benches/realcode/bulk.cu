// Bulk and tensor copies as the CUDA guide writes them: `cuda::device::memcpy_async_tx`, `cuda::memcpy_async` with a barrier, `cuda::ptx`, tensor maps.

#include "compare.h"

#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda/barrier>
#include <cuda/ptx>

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

using Barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int THREADS = 128;
constexpr int TILE = 1024;

// A tile comes by a bulk copy, is changed, and goes back by a bulk copy.
__global__ void there_and_back(int *out, const int *in) {
    __shared__ alignas(16) int tile[TILE];
    __shared__ Barrier ready;
    size_t base = blockIdx.x * size_t(TILE);
    if (threadIdx.x == 0) {
        init(&ready, blockDim.x);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    Barrier::arrival_token token;
    if (threadIdx.x == 0) {
        cuda::device::memcpy_async_tx(tile, in + base, cuda::aligned_size_t<16>(sizeof(tile)), ready);
        token = cuda::device::barrier_arrive_tx(ready, 1, sizeof(tile));
    } else {
        token = ready.arrive();
    }
    ready.wait(std::move(token));
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        tile[i] = tile[i] * 3 + 1;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + base, tile, sizeof(tile));
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

// Two stages, each with its own barrier, sums of tiles.
__global__ void two_stages(int *out, const int *in, int tiles) {
    __shared__ alignas(128) int stage[2][TILE];
    __shared__ alignas(8) uint64_t full[2], empty[2];
    if (threadIdx.x == 0) {
        for (int k = 0; k < 2; ++k) {
            ptx::mbarrier_init(&full[k], 1);
            ptx::mbarrier_init(&empty[k], blockDim.x - 32);
        }
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        if (threadIdx.x == 0)
            for (int tile = 0; tile < tiles; ++tile) {
                int which = tile % 2;
                if (tile >= 2)
                    while (!ptx::mbarrier_try_wait_parity(&empty[which], (tile / 2 - 1) & 1)) {
                    }
                ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[which], sizeof(stage[0]));
                ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, stage[which], in + tile * TILE, sizeof(stage[0]), &full[which]);
            }
    } else {
        int t = threadIdx.x - 32, sum = 0;
        for (int tile = 0; tile < tiles; ++tile) {
            int which = tile % 2;
            while (!ptx::mbarrier_try_wait_parity(&full[which], (tile / 2) & 1)) {
            }
            for (int i = t; i < TILE; i += blockDim.x - 32)
                sum += stage[which][i];
            ptx::mbarrier_arrive(&empty[which]);
        }
        out[t] = sum;
    }
}

// A tensor's tile of 32 × 64, transposed in shared memory and written through another map.
__global__ void transposed(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to) {
    __shared__ alignas(128) float tile[32][64];
    __shared__ alignas(128) float turned[64][32];
    __shared__ Barrier ready;
    if (threadIdx.x == 0) {
        init(&ready, blockDim.x);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    int x = blockIdx.x * 64, y = blockIdx.y * 32;
    Barrier::arrival_token token;
    if (threadIdx.x == 0) {
        int at[2] = {x, y};
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, &tile, &from, at, cuda::device::barrier_native_handle(ready));
        token = cuda::device::barrier_arrive_tx(ready, 1, sizeof(tile));
    } else {
        token = ready.arrive();
    }
    ready.wait(std::move(token));
    for (int i = threadIdx.x; i < 32 * 64; i += blockDim.x)
        turned[i % 64][i / 64] = tile[i / 64][i % 64];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        int at[2] = {y, x};
        ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &to, at, &turned);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

// Sums of all blocks by a copy that adds.
__global__ void added(int *out) {
    __shared__ alignas(16) int tile[TILE];
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        tile[i] = i + blockIdx.x;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, out, tile, sizeof(tile));
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}

CUtensorMap map_of(float *data, unsigned long long width, unsigned long long height, unsigned box_width, unsigned box_height) {
    void *entry = nullptr;
    cudaDriverEntryPointQueryResult found;
    CALL(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found));
    cuuint64_t sizes[2] = {width, height}, strides[1] = {width * sizeof(float)};
    cuuint32_t box[2] = {box_width, box_height}, steps[2] = {1, 1};
    CUtensorMap map;
    auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry);
    CUresult status = encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, data, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                             CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (status != CUDA_SUCCESS)
        std::printf("cuTensorMapEncodeTiled: %d: wrong\n", int(status));
    return map;
}

int main() {
    auto in = Array<int>::of(TILE * 6, [](int i) { return int(scatter(i) % 1000); });
    Array<int> out(TILE * 6);
    there_and_back<<<6, THREADS>>>(out.device, in.device);
    compare("memcpy_async_tx", out, TILE * 6, [&](int i) { return in.host[i] * 3 + 1; });
    two_stages<<<1, THREADS>>>(out.device, in.device, 6);
    compare("cp.async.bulk, two stages", out, THREADS - 32, [&](int t) {
        int sum = 0;
        for (int tile = 0; tile < 6; ++tile)
            for (int i = t; i < TILE; i += THREADS - 32)
                sum += in.host[tile * TILE + i];
        return sum;
    });
    Array<int> sums(TILE);
    added<<<4, THREADS>>>(sums.device);
    compare("cp.reduce.async.bulk", sums, TILE, [](int i) { return 4 * i + 6; });
    constexpr int WIDTH = 128 + 20, HEIGHT = 64 + 8;
    auto matrix = Array<float>::of(WIDTH * HEIGHT, [](int i) { return float(scatter(i) % 100); });
    Array<float> turned(WIDTH * HEIGHT);
    CUtensorMap from = map_of(matrix.device, WIDTH, HEIGHT, 64, 32), to = map_of(turned.device, HEIGHT, WIDTH, 32, 64);
    transposed<<<dim3((WIDTH + 63) / 64, (HEIGHT + 31) / 32), THREADS>>>(from, to);
    compare("cp.async.bulk.tensor", turned, WIDTH * HEIGHT, [&](int i) { return matrix.host[i % HEIGHT * WIDTH + i / HEIGHT]; });
    return wrong != 0;
}
