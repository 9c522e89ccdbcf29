// Memory that nobody has: behind the end of a buffer, between buffers, freed; also after launch numbers were used again. What looks like it and is
// right: memory that was freed and given out again, pools, variables, managed memory.
//
// expect: right clean
// expect: end out-of-bounds says=past
// expect: far out-of-bounds says=past
// expect: stencil out-of-bounds says=past
// expect: vector out-of-bounds says=past
// expect: freed use-after-free
// expect: again clean
// expect: grown clean
// expect: pool clean
// expect: variable clean
// expect: managed clean
// expect: many-right clean watched=701
// expect: many-end out-of-bounds
#include <cstdio>
#include <cstring>
#define OK(call) do { cudaError_t e = (call); if (e) { printf("%s: %s\n", #call, cudaGetErrorString(e)); return 9; } } while (0)
__device__ int counters[10];
__global__ void fill(int *to, int n, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] = value;
}
__global__ void smooth(int *to, const int *from, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    if (i < n)
        to[i] = from[i - 1] + from[i] + from[i + 1];
}
__global__ void twice(int4 *to, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int4 v = to[i];
        to[i] = make_int4(2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w);
    }
}
__global__ void count() { atomicAdd(&counters[threadIdx.x % 10], 1); }
int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "right";
    auto is = [&](const char *name) { return !strcmp(how, name); };
    const int n = 100;
    int *large, *before, *data, *behind;
    OK(cudaMalloc(&large, 4096 * 4));
    OK(cudaMalloc(&before, n * 4));
    OK(cudaMalloc(&data, n * 4));
    OK(cudaMalloc(&behind, 4096));
    if (is("right"))
        fill<<<2, 64>>>(data, n, 1);
    if (is("end"))
        fill<<<2, 64>>>(data, n + 1, 1);
    if (is("far"))
        fill<<<2, 64>>>(data, n + 16, 1);
    if (is("stencil")) {
        fill<<<32, 32>>>(behind, 1024, 1);
        // It reads behind the last of its words.
        smooth<<<32, 32>>>(large, behind, 1024);
    }
    if (is("vector"))
        twice<<<1, 32>>>((int4 *)data, 26);
    if (is("freed")) {
        OK(cudaFree(data));
        fill<<<2, 64>>>(data, n, 1);
    }
    if (is("again")) {
        OK(cudaFree(data));
        OK(cudaMalloc(&data, n * 4 + 64));
        fill<<<2, 64>>>(data, n + 16, 1);
    }
    if (is("grown")) {
        OK(cudaFree(data));
        OK(cudaMalloc(&data, n * 4 + 8));
        fill<<<2, 64>>>(data, n + 2, 1);
    }
    if (is("pool"))
        for (int i = 1; i < 40; i++) {
            int *some;
            OK(cudaMallocAsync(&some, i * 100, 0));
            fill<<<i, 64>>>(some, i * 25, 1);
            OK(cudaFreeAsync(some, 0));
        }
    if (is("variable"))
        for (int i = 0; i < 3; i++)
            count<<<2, 32>>>();
    if (is("managed")) {
        int *some;
        OK(cudaMallocManaged(&some, 1000));
        fill<<<4, 64>>>(some, 250, 1);
        OK(cudaDeviceSynchronize());
        OK(cudaFree(some));
    }
    if (!strncmp(how, "many", 4)) {
        for (int i = 0; i < 700; i++)
            fill<<<2, 64>>>(data, n, i);
        fill<<<2, 64>>>(data, is("many-end") ? n + 1 : n, 1);
    }
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return 0;
}
