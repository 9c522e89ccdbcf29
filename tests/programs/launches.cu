// All forms of a launch.
//~ run: clean
//~ prints: 10 blocks met
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
namespace cg = cooperative_groups;

#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { printf("%d %s: %s\n", __LINE__, #call, cudaGetErrorString(e)); exit(2); } } while (0)
#define REQUIRE(x) do { if (!(x)) { printf("%d: %s\n", __LINE__, #x); exit(3); } } while (0)

struct Pair { int a; double b; };

template <typename T> __global__ void store(T *to, T value, Pair pair) { *to = value + pair.a + (T)pair.b; }

__global__ void meet(int *counters)
{
    atomicAdd(&counters[0], 1);
    cg::this_grid().sync();
    if (blockIdx.x == 0) { counters[1] = counters[0]; printf("%d blocks met\n", counters[1]); }
}

__global__ void large(int *out)
{
    extern __shared__ int tile[];
    int last = 60 * 1024 / 4 - 1;
    tile[last] = 17;
    *out = tile[last];
}

int main()
{
    int *device, value;
    CHECK(cudaMalloc(&device, 8));
    CHECK(cudaMemset(device, 0, 8));

    store<int><<<1, 1>>>(device, 40, Pair{1, 1.0});
    CHECK(cudaMemcpy(&value, device, 4, cudaMemcpyDeviceToHost));
    REQUIRE(value == 42);

    int forty = 50;
    Pair pair{2, 3.0};
    void *arguments[] = {&device, &forty, &pair};
    CHECK(cudaLaunchKernel((void *)store<int>, dim3(1), dim3(1), arguments, 0, nullptr));
    CHECK(cudaMemcpy(&value, device, 4, cudaMemcpyDeviceToHost));
    REQUIRE(value == 55);

    cudaLaunchConfig_t config = {};
    config.gridDim = config.blockDim = dim3(1);
    CHECK(cudaLaunchKernelEx(&config, store<int>, device, 60, pair));
    CHECK(cudaMemcpy(&value, device, 4, cudaMemcpyDeviceToHost));
    REQUIRE(value == 65);

    CHECK(cudaMemset(device, 0, 8));
    void *counters[] = {&device};
    CHECK(cudaLaunchCooperativeKernel((void *)meet, dim3(10), dim3(1), counters, 0, nullptr));
    CHECK(cudaDeviceSynchronize());

    large<<<1, 1, 60 * 1024>>>(device);
    REQUIRE(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(cudaFuncSetAttribute(large, cudaFuncAttributeMaxDynamicSharedMemorySize, 60 * 1024));
    large<<<1, 1, 60 * 1024>>>(device);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&value, device, 4, cudaMemcpyDeviceToHost));
    REQUIRE(value == 17);

    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, meet));
    REQUIRE(attributes.maxThreadsPerBlock == 1024);
    int blocks;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, meet, 128, 0));
    REQUIRE(blocks >= 1);
    int size, grid;
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &size, meet));
    REQUIRE(size >= 32);
    CHECK(cudaFree(device));
    return 0;
}
