// Cooperative groups, a barrier of libcu++ with an asynchronous copy, printf, and variables of all kinds. `pin.sh` keeps what three releases of nvcc
// make of the device code (`groups.RELEASE.fatbin`); `groups.c` brings it into a program without a compiler for CUDA, with the same `main`.
//
// Before `sm_80` the barrier is software: one lane of a warp arrives for all. In CUDA 11 nothing orders what the others have written with that, and
// libcu++ got a `__syncwarp` there since (`cuda/barrier`, `arrive`), so that this is a finding.
//~ nvcc -std=c++17 -diag-suppress 20054 -gencode arch=compute_75,code=compute_75 -gencode arch=compute_80,code=compute_80
//~ on sm_75: clean
//~ on sm_75 sums: data-race@36,42
//~ on sm_75 copies: data-race@61,65
//~ on sm_75 rounds: data-race@72,75
//~ on sm_80: clean
//~ on sm_80 copies: async-copy-hazard@61,65 uninitialized-read@65
//~ besides in CUDA 11 on sm_75: data-race@61,65
//~ prints: 4 warps
//~ prints: 3 launches
#include "nvcc.h"

#ifdef __CUDACC__
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/barrier>

namespace cg = cooperative_groups;

__constant__ int factor;
__device__ int launches;
__managed__ int total;

extern "C" __global__ void sums(const int *from, int *to, int race)
{
    __shared__ int parts[4];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    int sum = cg::reduce(tile, from[block.thread_rank()] * factor, cg::plus<int>());
    if (tile.thread_rank() == 0)
        parts[block.thread_rank() / 32] = sum;
    if (!race)
        block.sync();
    if (block.thread_rank() == 0) {
        int all = 0;
        for (int i = 0; i < 4; i++)
            all += parts[i];
        *to = all;
        atomicAdd(&total, all);
        atomicAdd(&launches, 1);
        printf("%d warps\n", blockDim.x / 32);
    }
}

extern "C" __global__ void copies(const int *from, int *to, int race)
{
    __shared__ alignas(16) int buffer[128];
    __shared__ cuda::barrier<cuda::thread_scope_block> ready;
    cg::thread_block block = cg::this_thread_block();
    int t = block.thread_rank();
    if (t == 0) {
        init(&ready, block.size());
        atomicAdd(&launches, 1);
    }
    block.sync();
    cuda::memcpy_async(block, buffer, from, cuda::aligned_size_t<16>(sizeof buffer), ready);
    auto token = ready.arrive();
    if (!race)
        ready.wait(cuda::std::move(token));
    to[t] = buffer[127 - t];
}

extern "C" __global__ void rounds(int *data, int race)
{
    cg::grid_group grid = cg::this_grid();
    unsigned i = grid.thread_rank(), n = grid.size();
    data[i] = i;
    if (!race)
        grid.sync();
    int next = data[(i + 64) % n];
    grid.sync();
    data[i] = next;
    if (i == 0)
        atomicAdd(&launches, 1);
}
#endif

int main(int argc, char **argv)
{
    const char *bug = argc > 1 ? argv[1] : "";
    int numbers[128], back[128], three = 3, count = 0, *from, *to, race;
    for (int i = 0; i < 128; i++)
        numbers[i] = i;
    OK(cudaMalloc((void **)&from, sizeof numbers));
    OK(cudaMalloc((void **)&to, sizeof numbers));
    OK(cudaMemcpy(from, numbers, sizeof numbers, cudaMemcpyHostToDevice));
    OK(cudaMemcpyToSymbol((const void *)&factor, &three, sizeof three, 0, cudaMemcpyHostToDevice));
    total = 1;

    LAUNCH(sums, 1, 128, from, to, strcmp(bug, "sums") == 0);
    OK(cudaMemcpy(back, to, sizeof *back, cudaMemcpyDeviceToHost));
    TRUE(*back == 3 * 127 * 64 || *bug);

    LAUNCH(copies, 1, 128, from, to, strcmp(bug, "copies") == 0);
    OK(cudaMemcpy(back, to, sizeof back, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 128; i++)
        TRUE(back[i] == 127 - i || *bug);

    race = strcmp(bug, "rounds") == 0;
    void *args[] = {&to, &race};
    dim3 grid = {2, 1, 1}, block = {64, 1, 1};
    OK(cudaLaunchCooperativeKernel((const void *)rounds, grid, block, args, 0, NULL));
    OK(cudaMemcpy(back, to, sizeof back, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 128; i++)
        TRUE(back[i] == (i + 64) % 128 || *bug);

    OK(cudaMemcpyFromSymbol(&count, (const void *)&launches, sizeof count, 0, cudaMemcpyDeviceToHost));
    OK(cudaDeviceSynchronize());
    TRUE(total == 1 + 3 * 127 * 64 || *bug);
    printf("%d launches\n", count);
    OK(cudaFree(from));
    OK(cudaFree(to));
    return 0;
}
