// Calls `matmul` of one of ThunderKittens' lessons on products for Hopper, named by the macro EXAMPLE, and compares its result with the host.
//
//     thunderkittens_reference N
//
// Factors are small integers, so that every sum is exact, and a product of N is rounded once.

#define main lesson_main
#include EXAMPLE
#undef main

#include <cstdio>
#include <cstdlib>

int main(int argc, char **argv) {
    int n = argc > 1 ? std::atoi(argv[1]) : 128;
    std::vector<__nv_bfloat16> a(n * n), b(n * n), c(n * n);
    auto draw = [state = 1u]() mutable {
        state = state * 1664525u + 1013904223u;
        return float(int(state >> 29) - 3);
    };
    for (auto &x : a)
        x = __float2bfloat16(draw());
    for (auto &x : b)
        x = __float2bfloat16(draw());
    __nv_bfloat16 *of_a, *of_b, *of_c;
    size_t bytes = sizeof(__nv_bfloat16) * n * n;
    cudaMalloc(&of_a, bytes);
    cudaMalloc(&of_b, bytes);
    cudaMalloc(&of_c, bytes);
    cudaMemcpy(of_a, a.data(), bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(of_b, b.data(), bytes, cudaMemcpyHostToDevice);
    matmul(of_a, of_b, of_c, n);
    cudaError_t error = cudaMemcpy(c.data(), of_c, bytes, cudaMemcpyDeviceToHost);
    if (error != cudaSuccess) {
        std::printf("error: %s\n", cudaGetErrorString(error));
        return 1;
    }
    int different = 0;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            float sum = 0;
            for (int k = 0; k < n; ++k)
                sum += __bfloat162float(a[i * n + k]) * __bfloat162float(b[k * n + j]);
            different += __bfloat162float(__float2bfloat16(sum)) != __bfloat162float(c[i * n + j]);
        }
    std::printf(different ? "wrong: %d of %d elements\n" : "right\n", different, n * n);
    cudaFree(of_a);
    cudaFree(of_b);
    cudaFree(of_c);
    return different != 0;
}
