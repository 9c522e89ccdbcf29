// A whole program, as users have them: device code among host code, the standard library and a header of its own.
#include "timer.h"
#include <algorithm>
#include <cstdio>
#include <vector>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t error = (call);                                                                                    \
        if (error != cudaSuccess) {                                                                                    \
            fprintf(stderr, "%s\n", cudaGetErrorString(error));                                                        \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

constexpr int BLOCK = 128;

struct Buffer {
    float *data = nullptr;
    explicit Buffer(size_t n) { CHECK(cudaMalloc(&data, n * sizeof(float))); }
    ~Buffer() { cudaFree(data); }
};

std::vector<float> expected(const std::vector<float> &in)
{
    std::vector<float> out(in.size());
    std::transform(in.begin(), in.end(), out.begin(), [](float x) { return 2 * x; });
    return out;
}

__device__ float twice(float x) { return 2 * x; }

template <typename T> __global__ void scale(const T *in, T *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = twice(in[i]);
}

template __global__ void scale<float>(const float *, float *, int);

static std::vector<float> host_input(BLOCK);

int main()
{
    Timer timer;
    Buffer in(BLOCK), out(BLOCK);
    CHECK(cudaMemcpy(in.data, host_input.data(), BLOCK * sizeof(float), cudaMemcpyHostToDevice));
    scale<<<1, BLOCK>>>(in.data, out.data, BLOCK);
    CHECK(cudaDeviceSynchronize());
    printf("%f ms\n", timer.elapsed());
    return expected(host_input).size() == BLOCK ? 0 : 1;
}
