// Calls `gemm` of one of CuTe's tutorials, named by the macro EXAMPLE, and compares its result with the host.
//
//     cute_reference M N K TRANSPOSE_A TRANSPOSE_B
//
// Factors are small integers, so that every sum is exact in ELEMENT and OUTPUT, whatever its order.

#define main tutorial_main
#include EXAMPLE
#undef main

#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char **argv) {
    if (argc < 6)
        return 2;
    int m = std::atoi(argv[1]), n = std::atoi(argv[2]), k = std::atoi(argv[3]);
    char transposed_a = argv[4][0], transposed_b = argv[5][0];
    std::vector<ELEMENT> a(m * k), b(n * k);
    std::vector<OUTPUT> c(m * n);
    auto draw = [state = 1u]() mutable {
        state = state * 1664525u + 1013904223u;
        return int(state >> 29) - 3;
    };
    for (auto &x : a)
        x = ELEMENT(float(draw()));
    for (auto &x : b)
        x = ELEMENT(float(draw()));
    for (auto &x : c)
        x = OUTPUT(0.0f);
    thrust::device_vector<ELEMENT> on_a = a, on_b = b;
    thrust::device_vector<OUTPUT> on_c = c;
    int lda = transposed_a == 'N' ? m : k, ldb = transposed_b == 'N' ? k : n;
    gemm(transposed_a, transposed_b, m, n, k, OUTPUT(1.0f), on_a.data().get(), lda, on_b.data().get(), ldb, OUTPUT(0.0f), on_c.data().get(), m);
    if (cudaError_t error = cudaDeviceSynchronize()) {
        std::printf("error: %s\n", cudaGetErrorString(error));
        return 1;
    }
    thrust::host_vector<OUTPUT> got = on_c;
    int different = 0;
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            float sum = 0;
            for (int step = 0; step < k; ++step) {
                float x = float(transposed_a == 'N' ? a[i + step * lda] : a[step + i * lda]);
                float y = float(transposed_b == 'N' ? b[step + j * ldb] : b[j + step * ldb]);
                sum += x * y;
            }
            different += float(OUTPUT(sum)) != float(got[i + j * m]);
        }
    std::printf(different ? "wrong: %d of %d elements\n" : "right\n", different, m * n);
    return different != 0;
}
