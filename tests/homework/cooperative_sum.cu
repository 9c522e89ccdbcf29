// right
// Launched by a function of the runtime, with its arguments one by one.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>

namespace cg = cooperative_groups;

__device__ void add_up(float *out, const float *in, float *s, unsigned n, unsigned from, unsigned by)
{
    s[threadIdx.x] = 0;
    for (unsigned i = from; i < n; i += by)
        s[threadIdx.x] += in[i];
    __syncthreads();
    for (unsigned stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (threadIdx.x < stride)
            s[threadIdx.x] += s[threadIdx.x + stride];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = s[0];
}

__global__ void sum(float *out, float *in, unsigned n)
{
    extern __shared__ float s[];
    cg::grid_group grid = cg::this_grid();
    add_up(out, in, s, n, grid.thread_rank(), grid.size());
    grid.sync();
    if (blockIdx.x == 0)
        add_up(out, out, s, gridDim.x, threadIdx.x, blockDim.x);
}

int run(float *out, float *in, int n, int threads)
{
    int per_sm;
    cudaDeviceProp properties;
    cudaGetDeviceProperties(&properties, 0);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, sum, threads, threads * sizeof(float));
    int blocks = min(per_sm * properties.multiProcessorCount, (n + threads - 1) / threads);
    void *list[3];
    list[0] = (void *)&out;
    list[1] = (void *)&in;
    list[2] = (void *)&n;
    cudaLaunchCooperativeKernel((void *)sum, blocks, threads, list, threads * sizeof(float), NULL);
    return blocks;
}

int main(int argc, char **argv)
{
    int n = atoi(argv[1]), threads = atoi(argv[2]);
    float *in, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    cudaMemset(in, 0, n * sizeof(float));
    printf("%d blocks\n", run(out, in, n, threads));
    return cudaDeviceSynchronize();
}
