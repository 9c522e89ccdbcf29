// What matrix instructions give, printed as words: one line a case and a lane. The same program runs on a GPU, whose output is kept beside this
// file (matrix.h200.txt), and under `racetrap exec`.
//
// "exact": small integers, of which every sum is exact in every type. "rounded": any values, whose sums round.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <cstdio>
#include <cstdlib>
#include <type_traits>

using namespace nvcuda;

static void check(cudaError_t status) {
    if (status != cudaSuccess) {
        printf("%s\n", cudaGetErrorString(status));
        exit(2);
    }
}

__host__ __device__ inline unsigned mix(unsigned x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

// An element of a type: a small integer, or a value with all its digits.
template <class T>
__device__ T value(unsigned seed, bool exact) {
    int small = int(mix(seed) % 9) - 4;
    float any = (float(mix(seed) >> 8) / 16777216.0f - 0.5f) * 4.0f;
    if constexpr (std::is_same_v<T, __half>) return __float2half_rn(exact ? float(small) : any);
    else if constexpr (std::is_same_v<T, __nv_bfloat16>) return __float2bfloat16_rn(exact ? float(small) : any);
    else if constexpr (std::is_same_v<T, float>) return exact ? float(small) : any;
    else if constexpr (std::is_same_v<T, double>) return exact ? double(small) : double(any) + double(mix(seed + 77)) * 1e-17;
    else if constexpr (std::is_same_v<T, int>) return exact ? small : int(mix(seed));
    else return exact ? T(small) : T(mix(seed));
}

constexpr int WORDS = 1024;
__device__ unsigned out[WORDS];

static void print(const char *name, int words) {
    static unsigned host[WORDS];
    check(cudaDeviceSynchronize());
    check(cudaMemcpyFromSymbol(host, out, sizeof host));
    printf("%s", name);
    for (int i = 0; i < words; i++) printf("%s%08x", i % 16 ? " " : "\n  ", host[i]);
    printf("\n");
}

// The whole product of one warp, from and to matrices in memory.
template <int M, int N, int K, class T, class E, class C, class LA, class LB, wmma::layout_t LC, bool SHARED>
__global__ void product(unsigned seed, bool exact) {
    __shared__ __align__(32) E sa[M * K + 64], sb[K * N + 64];
    __shared__ __align__(32) C sc[M * N + 64], sd[M * N + 64];
    __device__ static __align__(32) E ga[M * K + 64], gb[K * N + 64];
    E *a = SHARED ? sa : ga, *b = SHARED ? sb : gb;
    for (int i = threadIdx.x; i < M * K; i += 32) a[i] = value<E>(seed + i, exact);
    for (int i = threadIdx.x; i < K * N; i += 32) b[i] = value<E>(seed + 5000 + i, exact);
    for (int i = threadIdx.x; i < M * N; i += 32) sc[i] = value<C>(seed + 9000 + i, exact);
    __syncthreads();
    wmma::fragment<wmma::matrix_a, M, N, K, T, LA> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, T, LB> fb;
    wmma::fragment<wmma::accumulator, M, N, K, C> fc;
    wmma::load_matrix_sync(fa, a, std::is_same_v<LA, wmma::row_major> ? K : M);
    wmma::load_matrix_sync(fb, b, std::is_same_v<LB, wmma::row_major> ? N : K);
    wmma::load_matrix_sync(fc, sc, LC == wmma::mem_row_major ? N : M, LC);
    if constexpr (std::is_same_v<T, wmma::precision::tf32>) {
        for (auto &x : fa.x) x = wmma::__float_to_tf32(x);
        for (auto &x : fb.x) x = wmma::__float_to_tf32(x);
    }
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(sd, fc, LC == wmma::mem_row_major ? N : M, LC);
    __syncthreads();
    unsigned *words = (unsigned *)sd;
    for (int i = threadIdx.x; i < int(M * N * sizeof(C) / 4); i += 32) out[i] = words[i];
}

// Which element of an accumulator each register of a lane holds: the number of the element, row by row.
template <int M, int N, int K, class C>
__global__ void places() {
    __shared__ __align__(32) C sc[M * N + 64];
    for (int i = threadIdx.x; i < M * N; i += 32) sc[i] = C(float(i));
    __syncthreads();
    wmma::fragment<wmma::accumulator, M, N, K, C> fc;
    wmma::load_matrix_sync(fc, sc, N, wmma::mem_row_major);
    for (int i = 0; i < fc.num_elements; i++) out[threadIdx.x * fc.num_elements + i] = unsigned(float(fc.x[i]));
}

#define WMMA(M, N, K, T, E, C, LA, LB, LC)                                                                     \
    for (int exact = 1; exact >= 0; exact--) {                                                                 \
        product<M, N, K, T, E, C, wmma::LA, wmma::LB, wmma::LC, false><<<1, 32>>>(1234, exact);                \
        print("wmma m" #M "n" #N "k" #K " " #T " " #C " " #LA " " #LB " " #LC " global", M * N * sizeof(C) / 4); \
        printf("  ^ %s\n", exact ? "exact" : "rounded");                                                       \
        product<M, N, K, T, E, C, wmma::LA, wmma::LB, wmma::LC, true><<<1, 32>>>(4321, exact);                 \
        print("wmma m" #M "n" #N "k" #K " " #T " " #C " " #LA " " #LB " " #LC " shared", M * N * sizeof(C) / 4); \
        printf("  ^ %s\n", exact ? "exact" : "rounded");                                                       \
    }
#define PLACES(M, N, K, C)             \
    places<M, N, K, C><<<1, 32>>>();   \
    print("places m" #M "n" #N "k" #K " " #C, M * N);

enum Kind { K_f16, K_bf16, K_tf32, K_f32, K_f64, K_e4m3, K_e5m2, K_s8, K_u8, K_s4, K_u4, K_b1, K_s32 };

// A register full of elements.
template <class R>
__device__ R packed(Kind kind, unsigned seed, bool exact) {
    if constexpr (std::is_same_v<R, double>) return value<double>(seed, exact);
    else {
        unsigned word = mix(seed), second = mix(seed + 31);
        switch (kind) {
        case K_f16: {
            __half2 h = __halves2half2(value<__half>(seed, exact), value<__half>(seed + 31, exact));
            return *(unsigned *)&h;
        }
        case K_bf16: {
            __nv_bfloat162 h = __halves2bfloat162(value<__nv_bfloat16>(seed, exact), value<__nv_bfloat16>(seed + 31, exact));
            return *(unsigned *)&h;
        }
        case K_tf32: return __float_as_uint(value<float>(seed, exact)); // all bits: the low 13 are not looked at
        case K_e4m3:
        case K_e5m2: {
            // 0, 1, 2, 4 and their opposites; or any finite byte of a middling exponent.
            unsigned bytes = 0;
            for (int i = 0; i < 4; i++) {
                unsigned w = mix(seed + i), sign = w >> 31 << 7;
                unsigned one = kind == K_e4m3 ? 0x38 : 0x3c, step = kind == K_e4m3 ? 8 : 4;
                unsigned byte = exact ? (w % 4 ? one + w % 4 * step - step : 0) : w % (one + 2 * step);
                bytes |= (byte | sign) << 8 * i;
            }
            return bytes;
        }
        default: return exact ? (word & second & mix(seed + 99)) : word;
        }
    }
}

template <class R>
__device__ R initial(Kind kind, unsigned seed, bool exact) {
    if constexpr (std::is_same_v<R, unsigned>) {
        if (kind == K_f16) return packed<unsigned>(K_f16, seed, exact);
        // Close to the ends of the range, so that saturation shows.
        unsigned word = mix(seed);
        return exact ? word % 1000 : (word & 1 ? 0x7fffffffu - word % 1000 : 0x80000000u + word % 1000);
    } else {
        return value<R>(seed, exact);
    }
}

// m16n8k8.f16.f16.f16.f16
__global__ void mma0(unsigned seed, bool exact) {
    unsigned a[2], b[1];
    unsigned c[2], d[2];
    for (int i = 0; i < 2; i++) a[i] = packed<unsigned>(K_f16, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 1; i++) b[i] = packed<unsigned>(K_f16, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) c[i] = initial<unsigned>(K_f16, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3}, {%4}, {%5, %6};" : "=r"(d[0]), "=r"(d[1]) : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(c[0]), "r"(c[1]));
    memcpy(&out[threadIdx.x * 2], d, sizeof d);
}

// m16n8k16.f16.f16.f16.f16
__global__ void mma1(unsigned seed, bool exact) {
    unsigned a[4], b[2];
    unsigned c[2], d[2];
    for (int i = 0; i < 4; i++) a[i] = packed<unsigned>(K_f16, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) b[i] = packed<unsigned>(K_f16, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) c[i] = initial<unsigned>(K_f16, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %9};" : "=r"(d[0]), "=r"(d[1]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]));
    memcpy(&out[threadIdx.x * 2], d, sizeof d);
}

// m16n8k8.f32.f16.f16.f32
__global__ void mma2(unsigned seed, bool exact) {
    unsigned a[2], b[1];
    float c[4], d[4];
    for (int i = 0; i < 2; i++) a[i] = packed<unsigned>(K_f16, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 1; i++) b[i] = packed<unsigned>(K_f16, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<float>(K_f32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};" : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
    memcpy(&out[threadIdx.x * 4], d, sizeof d);
}

// m16n8k16.f32.f16.f16.f32
__global__ void mma3(unsigned seed, bool exact) {
    unsigned a[4], b[2];
    float c[4], d[4];
    for (int i = 0; i < 4; i++) a[i] = packed<unsigned>(K_f16, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) b[i] = packed<unsigned>(K_f16, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<float>(K_f32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};" : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
    memcpy(&out[threadIdx.x * 4], d, sizeof d);
}

// m16n8k8.f32.bf16.bf16.f32
__global__ void mma4(unsigned seed, bool exact) {
    unsigned a[2], b[1];
    float c[4], d[4];
    for (int i = 0; i < 2; i++) a[i] = packed<unsigned>(K_bf16, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 1; i++) b[i] = packed<unsigned>(K_bf16, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<float>(K_f32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};" : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
    memcpy(&out[threadIdx.x * 4], d, sizeof d);
}

// m16n8k16.f32.bf16.bf16.f32
__global__ void mma5(unsigned seed, bool exact) {
    unsigned a[4], b[2];
    float c[4], d[4];
    for (int i = 0; i < 4; i++) a[i] = packed<unsigned>(K_bf16, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) b[i] = packed<unsigned>(K_bf16, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<float>(K_f32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};" : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
    memcpy(&out[threadIdx.x * 4], d, sizeof d);
}

// m16n8k4.f32.tf32.tf32.f32
__global__ void mma6(unsigned seed, bool exact) {
    unsigned a[2], b[1];
    float c[4], d[4];
    for (int i = 0; i < 2; i++) a[i] = packed<unsigned>(K_tf32, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 1; i++) b[i] = packed<unsigned>(K_tf32, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<float>(K_f32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};" : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
    memcpy(&out[threadIdx.x * 4], d, sizeof d);
}

// m16n8k8.f32.tf32.tf32.f32
__global__ void mma7(unsigned seed, bool exact) {
    unsigned a[4], b[2];
    float c[4], d[4];
    for (int i = 0; i < 4; i++) a[i] = packed<unsigned>(K_tf32, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) b[i] = packed<unsigned>(K_tf32, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<float>(K_f32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};" : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
    memcpy(&out[threadIdx.x * 4], d, sizeof d);
}

// m16n8k32.f32.e4m3.e4m3.f32
__global__ void mma8(unsigned seed, bool exact) {
    unsigned a[4], b[2];
    float c[4], d[4];
    for (int i = 0; i < 4; i++) a[i] = packed<unsigned>(K_e4m3, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) b[i] = packed<unsigned>(K_e4m3, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<float>(K_f32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};" : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
    memcpy(&out[threadIdx.x * 4], d, sizeof d);
}

// m16n8k32.f32.e5m2.e4m3.f32
__global__ void mma9(unsigned seed, bool exact) {
    unsigned a[4], b[2];
    float c[4], d[4];
    for (int i = 0; i < 4; i++) a[i] = packed<unsigned>(K_e5m2, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) b[i] = packed<unsigned>(K_e4m3, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<float>(K_f32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};" : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
    memcpy(&out[threadIdx.x * 4], d, sizeof d);
}

// m8n8k16.s32.s8.s8.s32
__global__ void mma10(unsigned seed, bool exact) {
    unsigned a[1], b[1];
    unsigned c[2], d[2];
    for (int i = 0; i < 1; i++) a[i] = packed<unsigned>(K_s8, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 1; i++) b[i] = packed<unsigned>(K_s8, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%4, %5};" : "=r"(d[0]), "=r"(d[1]) : "r"(a[0]), "r"(b[0]), "r"(c[0]), "r"(c[1]));
    memcpy(&out[threadIdx.x * 2], d, sizeof d);
}

// m16n8k16.s32.s8.s8.s32
__global__ void mma11(unsigned seed, bool exact) {
    unsigned a[2], b[1];
    unsigned c[4], d[4];
    for (int i = 0; i < 2; i++) a[i] = packed<unsigned>(K_s8, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 1; i++) b[i] = packed<unsigned>(K_s8, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
    memcpy(&out[threadIdx.x * 4], d, sizeof d);
}

// m16n8k32.s32.s8.s8.s32
__global__ void mma12(unsigned seed, bool exact) {
    unsigned a[4], b[2];
    unsigned c[4], d[4];
    for (int i = 0; i < 4; i++) a[i] = packed<unsigned>(K_s8, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) b[i] = packed<unsigned>(K_s8, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
    memcpy(&out[threadIdx.x * 4], d, sizeof d);
}

// m8n8k16.s32.u8.s8.s32
__global__ void mma13(unsigned seed, bool exact) {
    unsigned a[1], b[1];
    unsigned c[2], d[2];
    for (int i = 0; i < 1; i++) a[i] = packed<unsigned>(K_u8, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 1; i++) b[i] = packed<unsigned>(K_s8, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.u8.s8.s32 {%0, %1}, {%2}, {%3}, {%4, %5};" : "=r"(d[0]), "=r"(d[1]) : "r"(a[0]), "r"(b[0]), "r"(c[0]), "r"(c[1]));
    memcpy(&out[threadIdx.x * 2], d, sizeof d);
}

// m16n8k16.s32.u8.s8.s32
__global__ void mma14(unsigned seed, bool exact) {
    unsigned a[2], b[1];
    unsigned c[4], d[4];
    for (int i = 0; i < 2; i++) a[i] = packed<unsigned>(K_u8, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 1; i++) b[i] = packed<unsigned>(K_s8, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
    memcpy(&out[threadIdx.x * 4], d, sizeof d);
}

// m16n8k32.s32.u8.s8.s32
__global__ void mma15(unsigned seed, bool exact) {
    unsigned a[4], b[2];
    unsigned c[4], d[4];
    for (int i = 0; i < 4; i++) a[i] = packed<unsigned>(K_u8, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) b[i] = packed<unsigned>(K_s8, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
    memcpy(&out[threadIdx.x * 4], d, sizeof d);
}

// m8n8k16.s32.u8.u8.s32
__global__ void mma16(unsigned seed, bool exact) {
    unsigned a[1], b[1];
    unsigned c[2], d[2];
    for (int i = 0; i < 1; i++) a[i] = packed<unsigned>(K_u8, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 1; i++) b[i] = packed<unsigned>(K_u8, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32 {%0, %1}, {%2}, {%3}, {%4, %5};" : "=r"(d[0]), "=r"(d[1]) : "r"(a[0]), "r"(b[0]), "r"(c[0]), "r"(c[1]));
    memcpy(&out[threadIdx.x * 2], d, sizeof d);
}

// m16n8k16.s32.u8.u8.s32
__global__ void mma17(unsigned seed, bool exact) {
    unsigned a[2], b[1];
    unsigned c[4], d[4];
    for (int i = 0; i < 2; i++) a[i] = packed<unsigned>(K_u8, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 1; i++) b[i] = packed<unsigned>(K_u8, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
    memcpy(&out[threadIdx.x * 4], d, sizeof d);
}

// m16n8k32.s32.u8.u8.s32
__global__ void mma18(unsigned seed, bool exact) {
    unsigned a[4], b[2];
    unsigned c[4], d[4];
    for (int i = 0; i < 4; i++) a[i] = packed<unsigned>(K_u8, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) b[i] = packed<unsigned>(K_u8, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
    memcpy(&out[threadIdx.x * 4], d, sizeof d);
}

// m8n8k16.s32.s8.s8.s32.satfinite
__global__ void mma19(unsigned seed, bool exact) {
    unsigned a[1], b[1];
    unsigned c[2], d[2];
    for (int i = 0; i < 1; i++) a[i] = packed<unsigned>(K_s8, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 1; i++) b[i] = packed<unsigned>(K_s8, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%4, %5};" : "=r"(d[0]), "=r"(d[1]) : "r"(a[0]), "r"(b[0]), "r"(c[0]), "r"(c[1]));
    memcpy(&out[threadIdx.x * 2], d, sizeof d);
}

// m16n8k16.s32.s8.s8.s32.satfinite
__global__ void mma20(unsigned seed, bool exact) {
    unsigned a[2], b[1];
    unsigned c[4], d[4];
    for (int i = 0; i < 2; i++) a[i] = packed<unsigned>(K_s8, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 1; i++) b[i] = packed<unsigned>(K_s8, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k16.row.col.satfinite.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
    memcpy(&out[threadIdx.x * 4], d, sizeof d);
}

// m16n8k32.s32.s8.s8.s32.satfinite
__global__ void mma21(unsigned seed, bool exact) {
    unsigned a[4], b[2];
    unsigned c[4], d[4];
    for (int i = 0; i < 4; i++) a[i] = packed<unsigned>(K_s8, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) b[i] = packed<unsigned>(K_s8, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
    memcpy(&out[threadIdx.x * 4], d, sizeof d);
}

// m8n8k16.s32.u8.s8.s32.satfinite
__global__ void mma22(unsigned seed, bool exact) {
    unsigned a[1], b[1];
    unsigned c[2], d[2];
    for (int i = 0; i < 1; i++) a[i] = packed<unsigned>(K_u8, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 1; i++) b[i] = packed<unsigned>(K_s8, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m8n8k16.row.col.satfinite.s32.u8.s8.s32 {%0, %1}, {%2}, {%3}, {%4, %5};" : "=r"(d[0]), "=r"(d[1]) : "r"(a[0]), "r"(b[0]), "r"(c[0]), "r"(c[1]));
    memcpy(&out[threadIdx.x * 2], d, sizeof d);
}

// m16n8k16.s32.u8.s8.s32.satfinite
__global__ void mma23(unsigned seed, bool exact) {
    unsigned a[2], b[1];
    unsigned c[4], d[4];
    for (int i = 0; i < 2; i++) a[i] = packed<unsigned>(K_u8, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 1; i++) b[i] = packed<unsigned>(K_s8, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k16.row.col.satfinite.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
    memcpy(&out[threadIdx.x * 4], d, sizeof d);
}

// m16n8k32.s32.u8.s8.s32.satfinite
__global__ void mma24(unsigned seed, bool exact) {
    unsigned a[4], b[2];
    unsigned c[4], d[4];
    for (int i = 0; i < 4; i++) a[i] = packed<unsigned>(K_u8, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) b[i] = packed<unsigned>(K_s8, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
    memcpy(&out[threadIdx.x * 4], d, sizeof d);
}

// m8n8k16.s32.u8.u8.s32.satfinite
__global__ void mma25(unsigned seed, bool exact) {
    unsigned a[1], b[1];
    unsigned c[2], d[2];
    for (int i = 0; i < 1; i++) a[i] = packed<unsigned>(K_u8, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 1; i++) b[i] = packed<unsigned>(K_u8, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m8n8k16.row.col.satfinite.s32.u8.u8.s32 {%0, %1}, {%2}, {%3}, {%4, %5};" : "=r"(d[0]), "=r"(d[1]) : "r"(a[0]), "r"(b[0]), "r"(c[0]), "r"(c[1]));
    memcpy(&out[threadIdx.x * 2], d, sizeof d);
}

// m16n8k16.s32.u8.u8.s32.satfinite
__global__ void mma26(unsigned seed, bool exact) {
    unsigned a[2], b[1];
    unsigned c[4], d[4];
    for (int i = 0; i < 2; i++) a[i] = packed<unsigned>(K_u8, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 1; i++) b[i] = packed<unsigned>(K_u8, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k16.row.col.satfinite.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
    memcpy(&out[threadIdx.x * 4], d, sizeof d);
}

// m16n8k32.s32.u8.u8.s32.satfinite
__global__ void mma27(unsigned seed, bool exact) {
    unsigned a[4], b[2];
    unsigned c[4], d[4];
    for (int i = 0; i < 4; i++) a[i] = packed<unsigned>(K_u8, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) b[i] = packed<unsigned>(K_u8, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
    memcpy(&out[threadIdx.x * 4], d, sizeof d);
}

// m8n8k32.s32.s4.s4.s32
__global__ void mma28(unsigned seed, bool exact) {
    unsigned a[1], b[1];
    unsigned c[2], d[2];
    for (int i = 0; i < 1; i++) a[i] = packed<unsigned>(K_s4, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 1; i++) b[i] = packed<unsigned>(K_s4, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32 {%0, %1}, {%2}, {%3}, {%4, %5};" : "=r"(d[0]), "=r"(d[1]) : "r"(a[0]), "r"(b[0]), "r"(c[0]), "r"(c[1]));
    memcpy(&out[threadIdx.x * 2], d, sizeof d);
}

// m16n8k32.s32.s4.s4.s32
__global__ void mma29(unsigned seed, bool exact) {
    unsigned a[2], b[1];
    unsigned c[4], d[4];
    for (int i = 0; i < 2; i++) a[i] = packed<unsigned>(K_s4, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 1; i++) b[i] = packed<unsigned>(K_s4, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s4.s4.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
    memcpy(&out[threadIdx.x * 4], d, sizeof d);
}

// m16n8k64.s32.s4.s4.s32
__global__ void mma30(unsigned seed, bool exact) {
    unsigned a[4], b[2];
    unsigned c[4], d[4];
    for (int i = 0; i < 4; i++) a[i] = packed<unsigned>(K_s4, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) b[i] = packed<unsigned>(K_s4, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
    memcpy(&out[threadIdx.x * 4], d, sizeof d);
}

// m8n8k32.s32.u4.s4.s32
__global__ void mma31(unsigned seed, bool exact) {
    unsigned a[1], b[1];
    unsigned c[2], d[2];
    for (int i = 0; i < 1; i++) a[i] = packed<unsigned>(K_u4, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 1; i++) b[i] = packed<unsigned>(K_s4, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m8n8k32.row.col.s32.u4.s4.s32 {%0, %1}, {%2}, {%3}, {%4, %5};" : "=r"(d[0]), "=r"(d[1]) : "r"(a[0]), "r"(b[0]), "r"(c[0]), "r"(c[1]));
    memcpy(&out[threadIdx.x * 2], d, sizeof d);
}

// m16n8k32.s32.u4.s4.s32
__global__ void mma32(unsigned seed, bool exact) {
    unsigned a[2], b[1];
    unsigned c[4], d[4];
    for (int i = 0; i < 2; i++) a[i] = packed<unsigned>(K_u4, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 1; i++) b[i] = packed<unsigned>(K_s4, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u4.s4.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
    memcpy(&out[threadIdx.x * 4], d, sizeof d);
}

// m16n8k64.s32.u4.s4.s32
__global__ void mma33(unsigned seed, bool exact) {
    unsigned a[4], b[2];
    unsigned c[4], d[4];
    for (int i = 0; i < 4; i++) a[i] = packed<unsigned>(K_u4, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) b[i] = packed<unsigned>(K_s4, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k64.row.col.s32.u4.s4.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
    memcpy(&out[threadIdx.x * 4], d, sizeof d);
}

// m8n8k128.s32.b1.b1.s32.xor.popc
__global__ void mma34(unsigned seed, bool exact) {
    unsigned a[1], b[1];
    unsigned c[2], d[2];
    for (int i = 0; i < 1; i++) a[i] = packed<unsigned>(K_b1, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 1; i++) b[i] = packed<unsigned>(K_b1, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc {%0, %1}, {%2}, {%3}, {%4, %5};" : "=r"(d[0]), "=r"(d[1]) : "r"(a[0]), "r"(b[0]), "r"(c[0]), "r"(c[1]));
    memcpy(&out[threadIdx.x * 2], d, sizeof d);
}

// m16n8k128.s32.b1.b1.s32.xor.popc
__global__ void mma35(unsigned seed, bool exact) {
    unsigned a[2], b[1];
    unsigned c[4], d[4];
    for (int i = 0; i < 2; i++) a[i] = packed<unsigned>(K_b1, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 1; i++) b[i] = packed<unsigned>(K_b1, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.xor.popc {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
    memcpy(&out[threadIdx.x * 4], d, sizeof d);
}

// m16n8k256.s32.b1.b1.s32.xor.popc
__global__ void mma36(unsigned seed, bool exact) {
    unsigned a[4], b[2];
    unsigned c[4], d[4];
    for (int i = 0; i < 4; i++) a[i] = packed<unsigned>(K_b1, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) b[i] = packed<unsigned>(K_b1, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
    memcpy(&out[threadIdx.x * 4], d, sizeof d);
}

// m8n8k128.s32.b1.b1.s32.and.popc
__global__ void mma37(unsigned seed, bool exact) {
    unsigned a[1], b[1];
    unsigned c[2], d[2];
    for (int i = 0; i < 1; i++) a[i] = packed<unsigned>(K_b1, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 1; i++) b[i] = packed<unsigned>(K_b1, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.and.popc {%0, %1}, {%2}, {%3}, {%4, %5};" : "=r"(d[0]), "=r"(d[1]) : "r"(a[0]), "r"(b[0]), "r"(c[0]), "r"(c[1]));
    memcpy(&out[threadIdx.x * 2], d, sizeof d);
}

// m16n8k128.s32.b1.b1.s32.and.popc
__global__ void mma38(unsigned seed, bool exact) {
    unsigned a[2], b[1];
    unsigned c[4], d[4];
    for (int i = 0; i < 2; i++) a[i] = packed<unsigned>(K_b1, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 1; i++) b[i] = packed<unsigned>(K_b1, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
    memcpy(&out[threadIdx.x * 4], d, sizeof d);
}

// m16n8k256.s32.b1.b1.s32.and.popc
__global__ void mma39(unsigned seed, bool exact) {
    unsigned a[4], b[2];
    unsigned c[4], d[4];
    for (int i = 0; i < 4; i++) a[i] = packed<unsigned>(K_b1, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) b[i] = packed<unsigned>(K_b1, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<unsigned>(K_s32, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
    memcpy(&out[threadIdx.x * 4], d, sizeof d);
}

// m8n8k4.f64.f64.f64.f64
__global__ void mma40(unsigned seed, bool exact) {
    double a[1], b[1];
    double c[2], d[2];
    for (int i = 0; i < 1; i++) a[i] = packed<double>(K_f64, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 1; i++) b[i] = packed<double>(K_f64, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) c[i] = initial<double>(K_f64, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%4, %5};" : "=d"(d[0]), "=d"(d[1]) : "d"(a[0]), "d"(b[0]), "d"(c[0]), "d"(c[1]));
    memcpy(&out[threadIdx.x * 4], d, sizeof d);
}

// m16n8k4.f64.f64.f64.f64
__global__ void mma41(unsigned seed, bool exact) {
    double a[2], b[1];
    double c[4], d[4];
    for (int i = 0; i < 2; i++) a[i] = packed<double>(K_f64, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 1; i++) b[i] = packed<double>(K_f64, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<double>(K_f64, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};" : "=d"(d[0]), "=d"(d[1]), "=d"(d[2]), "=d"(d[3]) : "d"(a[0]), "d"(a[1]), "d"(b[0]), "d"(c[0]), "d"(c[1]), "d"(c[2]), "d"(c[3]));
    memcpy(&out[threadIdx.x * 8], d, sizeof d);
}

// m16n8k8.f64.f64.f64.f64
__global__ void mma42(unsigned seed, bool exact) {
    double a[4], b[2];
    double c[4], d[4];
    for (int i = 0; i < 4; i++) a[i] = packed<double>(K_f64, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 2; i++) b[i] = packed<double>(K_f64, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<double>(K_f64, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};" : "=d"(d[0]), "=d"(d[1]), "=d"(d[2]), "=d"(d[3]) : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]), "d"(c[0]), "d"(c[1]), "d"(c[2]), "d"(c[3]));
    memcpy(&out[threadIdx.x * 8], d, sizeof d);
}

// m16n8k16.f64.f64.f64.f64
__global__ void mma43(unsigned seed, bool exact) {
    double a[8], b[4];
    double c[4], d[4];
    for (int i = 0; i < 8; i++) a[i] = packed<double>(K_f64, seed + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) b[i] = packed<double>(K_f64, seed + 5000 + 100 * threadIdx.x + i, exact);
    for (int i = 0; i < 4; i++) c[i] = initial<double>(K_f64, seed + 9000 + 100 * threadIdx.x + i, exact);
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%16, %17, %18, %19};" : "=d"(d[0]), "=d"(d[1]), "=d"(d[2]), "=d"(d[3]) : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]), "d"(c[0]), "d"(c[1]), "d"(c[2]), "d"(c[3]));
    memcpy(&out[threadIdx.x * 8], d, sizeof d);
}

// Four matrices of 8 × 8 elements in shared memory, rows in any order and apart.
template <int NUM, bool TRANS>
__global__ void loads() {
    __shared__ __align__(16) unsigned short m[64 * 24];
    for (int i = threadIdx.x; i < 64 * 24; i += 32) m[i] = i;
    __syncthreads();
    unsigned row = (threadIdx.x * 11) % 64;
    unsigned at = unsigned(__cvta_generic_to_shared(&m[row * 24 + 8 * (threadIdx.x % 3 == 1)]));
    unsigned d[4] = {};
    if constexpr (NUM == 1 && !TRANS) asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(d[0]) : "r"(at));
    if constexpr (NUM == 2 && !TRANS) asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(d[0]), "=r"(d[1]) : "r"(at));
    if constexpr (NUM == 4 && !TRANS) asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(at));
    if constexpr (NUM == 1 && TRANS) asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(d[0]) : "r"(at));
    if constexpr (NUM == 2 && TRANS) asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(d[0]), "=r"(d[1]) : "r"(at));
    if constexpr (NUM == 4 && TRANS) {
        unsigned long long wide = (unsigned long long)&m[row * 24 + 8 * (threadIdx.x % 3 == 1)];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.b16 {%0, %1, %2, %3}, [%4];" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "l"(wide));
    }
    for (int i = 0; i < 4; i++) out[4 * threadIdx.x + i] = d[i];
}

#if __CUDA_ARCH__ >= 900 || !defined(__CUDA_ARCH__)
template <int NUM, bool TRANS>
__global__ void stores() {
    __shared__ __align__(16) unsigned short m[32 * 16];
    for (int i = threadIdx.x; i < 32 * 16; i += 32) m[i] = 0xffff;
    __syncthreads();
    unsigned row = (threadIdx.x * 11) % 32;
    unsigned at = unsigned(__cvta_generic_to_shared(&m[row * 16]));
    unsigned d[4];
    for (int i = 0; i < 4; i++) d[i] = (64 * i + 2 * threadIdx.x) | (64 * i + 2 * threadIdx.x + 1) << 16;
    if constexpr (NUM == 1 && !TRANS) asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(at), "r"(d[0]) : "memory");
    if constexpr (NUM == 2 && TRANS) asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(at), "r"(d[0]), "r"(d[1]) : "memory");
    if constexpr (NUM == 4 && !TRANS) asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(d[0]), "r"(d[1]), "r"(d[2]), "r"(d[3]) : "memory");
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += 32) out[i] = m[2 * i] | m[2 * i + 1] << 16;
}
#endif

__global__ void turns() {
    unsigned d, a = (2 * threadIdx.x) | (2 * threadIdx.x + 1) << 16;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(d) : "r"(a));
    out[threadIdx.x] = d;
}

int main() {
    WMMA(16, 16, 16, __half, __half, float, row_major, col_major, mem_row_major)
    WMMA(16, 16, 16, __half, __half, float, col_major, row_major, mem_col_major)
    WMMA(16, 16, 16, __half, __half, __half, row_major, col_major, mem_row_major)
    WMMA(16, 16, 16, __half, __half, __half, col_major, row_major, mem_col_major)
    WMMA(16, 16, 16, __nv_bfloat16, __nv_bfloat16, float, row_major, col_major, mem_row_major)
    WMMA(16, 16, 16, __nv_bfloat16, __nv_bfloat16, float, col_major, row_major, mem_col_major)
    WMMA(16, 16, 16, signed char, signed char, int, row_major, col_major, mem_row_major)
    WMMA(16, 16, 16, signed char, signed char, int, col_major, row_major, mem_col_major)
    WMMA(16, 16, 16, unsigned char, unsigned char, int, row_major, col_major, mem_row_major)
    WMMA(16, 16, 16, unsigned char, unsigned char, int, col_major, row_major, mem_col_major)
    WMMA(32, 8, 16, __half, __half, float, row_major, col_major, mem_row_major)
    WMMA(32, 8, 16, __half, __half, float, col_major, row_major, mem_col_major)
    WMMA(32, 8, 16, __half, __half, __half, row_major, col_major, mem_row_major)
    WMMA(32, 8, 16, __half, __half, __half, col_major, row_major, mem_col_major)
    WMMA(32, 8, 16, __nv_bfloat16, __nv_bfloat16, float, row_major, col_major, mem_row_major)
    WMMA(32, 8, 16, __nv_bfloat16, __nv_bfloat16, float, col_major, row_major, mem_col_major)
    WMMA(32, 8, 16, signed char, signed char, int, row_major, col_major, mem_row_major)
    WMMA(32, 8, 16, signed char, signed char, int, col_major, row_major, mem_col_major)
    WMMA(32, 8, 16, unsigned char, unsigned char, int, row_major, col_major, mem_row_major)
    WMMA(32, 8, 16, unsigned char, unsigned char, int, col_major, row_major, mem_col_major)
    WMMA(8, 32, 16, __half, __half, float, row_major, col_major, mem_row_major)
    WMMA(8, 32, 16, __half, __half, float, col_major, row_major, mem_col_major)
    WMMA(8, 32, 16, __half, __half, __half, row_major, col_major, mem_row_major)
    WMMA(8, 32, 16, __half, __half, __half, col_major, row_major, mem_col_major)
    WMMA(8, 32, 16, __nv_bfloat16, __nv_bfloat16, float, row_major, col_major, mem_row_major)
    WMMA(8, 32, 16, __nv_bfloat16, __nv_bfloat16, float, col_major, row_major, mem_col_major)
    WMMA(8, 32, 16, signed char, signed char, int, row_major, col_major, mem_row_major)
    WMMA(8, 32, 16, signed char, signed char, int, col_major, row_major, mem_col_major)
    WMMA(8, 32, 16, unsigned char, unsigned char, int, row_major, col_major, mem_row_major)
    WMMA(8, 32, 16, unsigned char, unsigned char, int, col_major, row_major, mem_col_major)
    WMMA(16, 16, 8, wmma::precision::tf32, float, float, row_major, col_major, mem_row_major)
    WMMA(8, 8, 4, double, double, double, row_major, col_major, mem_row_major)
    WMMA(16, 16, 8, wmma::precision::tf32, float, float, col_major, row_major, mem_col_major)
    WMMA(8, 8, 4, double, double, double, col_major, row_major, mem_col_major)
    PLACES(16, 16, 16, float)
    PLACES(16, 16, 16, __half)
    PLACES(16, 16, 16, int)
    PLACES(32, 8, 16, float)
    PLACES(32, 8, 16, __half)
    PLACES(32, 8, 16, int)
    PLACES(8, 32, 16, float)
    PLACES(8, 32, 16, __half)
    PLACES(8, 32, 16, int)
    PLACES(16, 16, 8, float)
    PLACES(8, 8, 4, double)
    for (int exact = 1; exact >= 0; exact--) {
        mma0<<<1, 32>>>(7 * 0 + 1, exact);
        print(exact ? "mma.m16n8k8.f16.f16.f16.f16 exact" : "mma.m16n8k8.f16.f16.f16.f16 rounded", 64);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma1<<<1, 32>>>(7 * 1 + 1, exact);
        print(exact ? "mma.m16n8k16.f16.f16.f16.f16 exact" : "mma.m16n8k16.f16.f16.f16.f16 rounded", 64);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma2<<<1, 32>>>(7 * 2 + 1, exact);
        print(exact ? "mma.m16n8k8.f32.f16.f16.f32 exact" : "mma.m16n8k8.f32.f16.f16.f32 rounded", 128);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma3<<<1, 32>>>(7 * 3 + 1, exact);
        print(exact ? "mma.m16n8k16.f32.f16.f16.f32 exact" : "mma.m16n8k16.f32.f16.f16.f32 rounded", 128);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma4<<<1, 32>>>(7 * 4 + 1, exact);
        print(exact ? "mma.m16n8k8.f32.bf16.bf16.f32 exact" : "mma.m16n8k8.f32.bf16.bf16.f32 rounded", 128);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma5<<<1, 32>>>(7 * 5 + 1, exact);
        print(exact ? "mma.m16n8k16.f32.bf16.bf16.f32 exact" : "mma.m16n8k16.f32.bf16.bf16.f32 rounded", 128);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma6<<<1, 32>>>(7 * 6 + 1, exact);
        print(exact ? "mma.m16n8k4.f32.tf32.tf32.f32 exact" : "mma.m16n8k4.f32.tf32.tf32.f32 rounded", 128);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma7<<<1, 32>>>(7 * 7 + 1, exact);
        print(exact ? "mma.m16n8k8.f32.tf32.tf32.f32 exact" : "mma.m16n8k8.f32.tf32.tf32.f32 rounded", 128);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma8<<<1, 32>>>(7 * 8 + 1, exact);
        print(exact ? "mma.m16n8k32.f32.e4m3.e4m3.f32 exact" : "mma.m16n8k32.f32.e4m3.e4m3.f32 rounded", 128);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma9<<<1, 32>>>(7 * 9 + 1, exact);
        print(exact ? "mma.m16n8k32.f32.e5m2.e4m3.f32 exact" : "mma.m16n8k32.f32.e5m2.e4m3.f32 rounded", 128);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma10<<<1, 32>>>(7 * 10 + 1, exact);
        print(exact ? "mma.m8n8k16.s32.s8.s8.s32 exact" : "mma.m8n8k16.s32.s8.s8.s32 rounded", 64);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma11<<<1, 32>>>(7 * 11 + 1, exact);
        print(exact ? "mma.m16n8k16.s32.s8.s8.s32 exact" : "mma.m16n8k16.s32.s8.s8.s32 rounded", 128);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma12<<<1, 32>>>(7 * 12 + 1, exact);
        print(exact ? "mma.m16n8k32.s32.s8.s8.s32 exact" : "mma.m16n8k32.s32.s8.s8.s32 rounded", 128);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma13<<<1, 32>>>(7 * 13 + 1, exact);
        print(exact ? "mma.m8n8k16.s32.u8.s8.s32 exact" : "mma.m8n8k16.s32.u8.s8.s32 rounded", 64);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma14<<<1, 32>>>(7 * 14 + 1, exact);
        print(exact ? "mma.m16n8k16.s32.u8.s8.s32 exact" : "mma.m16n8k16.s32.u8.s8.s32 rounded", 128);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma15<<<1, 32>>>(7 * 15 + 1, exact);
        print(exact ? "mma.m16n8k32.s32.u8.s8.s32 exact" : "mma.m16n8k32.s32.u8.s8.s32 rounded", 128);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma16<<<1, 32>>>(7 * 16 + 1, exact);
        print(exact ? "mma.m8n8k16.s32.u8.u8.s32 exact" : "mma.m8n8k16.s32.u8.u8.s32 rounded", 64);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma17<<<1, 32>>>(7 * 17 + 1, exact);
        print(exact ? "mma.m16n8k16.s32.u8.u8.s32 exact" : "mma.m16n8k16.s32.u8.u8.s32 rounded", 128);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma18<<<1, 32>>>(7 * 18 + 1, exact);
        print(exact ? "mma.m16n8k32.s32.u8.u8.s32 exact" : "mma.m16n8k32.s32.u8.u8.s32 rounded", 128);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma19<<<1, 32>>>(7 * 19 + 1, exact);
        print(exact ? "mma.m8n8k16.satfinite.s32.s8.s8.s32 exact" : "mma.m8n8k16.satfinite.s32.s8.s8.s32 rounded", 64);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma20<<<1, 32>>>(7 * 20 + 1, exact);
        print(exact ? "mma.m16n8k16.satfinite.s32.s8.s8.s32 exact" : "mma.m16n8k16.satfinite.s32.s8.s8.s32 rounded", 128);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma21<<<1, 32>>>(7 * 21 + 1, exact);
        print(exact ? "mma.m16n8k32.satfinite.s32.s8.s8.s32 exact" : "mma.m16n8k32.satfinite.s32.s8.s8.s32 rounded", 128);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma22<<<1, 32>>>(7 * 22 + 1, exact);
        print(exact ? "mma.m8n8k16.satfinite.s32.u8.s8.s32 exact" : "mma.m8n8k16.satfinite.s32.u8.s8.s32 rounded", 64);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma23<<<1, 32>>>(7 * 23 + 1, exact);
        print(exact ? "mma.m16n8k16.satfinite.s32.u8.s8.s32 exact" : "mma.m16n8k16.satfinite.s32.u8.s8.s32 rounded", 128);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma24<<<1, 32>>>(7 * 24 + 1, exact);
        print(exact ? "mma.m16n8k32.satfinite.s32.u8.s8.s32 exact" : "mma.m16n8k32.satfinite.s32.u8.s8.s32 rounded", 128);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma25<<<1, 32>>>(7 * 25 + 1, exact);
        print(exact ? "mma.m8n8k16.satfinite.s32.u8.u8.s32 exact" : "mma.m8n8k16.satfinite.s32.u8.u8.s32 rounded", 64);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma26<<<1, 32>>>(7 * 26 + 1, exact);
        print(exact ? "mma.m16n8k16.satfinite.s32.u8.u8.s32 exact" : "mma.m16n8k16.satfinite.s32.u8.u8.s32 rounded", 128);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma27<<<1, 32>>>(7 * 27 + 1, exact);
        print(exact ? "mma.m16n8k32.satfinite.s32.u8.u8.s32 exact" : "mma.m16n8k32.satfinite.s32.u8.u8.s32 rounded", 128);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma28<<<1, 32>>>(7 * 28 + 1, exact);
        print(exact ? "mma.m8n8k32.s32.s4.s4.s32 exact" : "mma.m8n8k32.s32.s4.s4.s32 rounded", 64);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma29<<<1, 32>>>(7 * 29 + 1, exact);
        print(exact ? "mma.m16n8k32.s32.s4.s4.s32 exact" : "mma.m16n8k32.s32.s4.s4.s32 rounded", 128);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma30<<<1, 32>>>(7 * 30 + 1, exact);
        print(exact ? "mma.m16n8k64.s32.s4.s4.s32 exact" : "mma.m16n8k64.s32.s4.s4.s32 rounded", 128);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma31<<<1, 32>>>(7 * 31 + 1, exact);
        print(exact ? "mma.m8n8k32.s32.u4.s4.s32 exact" : "mma.m8n8k32.s32.u4.s4.s32 rounded", 64);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma32<<<1, 32>>>(7 * 32 + 1, exact);
        print(exact ? "mma.m16n8k32.s32.u4.s4.s32 exact" : "mma.m16n8k32.s32.u4.s4.s32 rounded", 128);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma33<<<1, 32>>>(7 * 33 + 1, exact);
        print(exact ? "mma.m16n8k64.s32.u4.s4.s32 exact" : "mma.m16n8k64.s32.u4.s4.s32 rounded", 128);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma34<<<1, 32>>>(7 * 34 + 1, exact);
        print(exact ? "mma.m8n8k128.s32.b1.b1.s32.xor.popc exact" : "mma.m8n8k128.s32.b1.b1.s32.xor.popc rounded", 64);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma35<<<1, 32>>>(7 * 35 + 1, exact);
        print(exact ? "mma.m16n8k128.s32.b1.b1.s32.xor.popc exact" : "mma.m16n8k128.s32.b1.b1.s32.xor.popc rounded", 128);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma36<<<1, 32>>>(7 * 36 + 1, exact);
        print(exact ? "mma.m16n8k256.s32.b1.b1.s32.xor.popc exact" : "mma.m16n8k256.s32.b1.b1.s32.xor.popc rounded", 128);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma37<<<1, 32>>>(7 * 37 + 1, exact);
        print(exact ? "mma.m8n8k128.s32.b1.b1.s32.and.popc exact" : "mma.m8n8k128.s32.b1.b1.s32.and.popc rounded", 64);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma38<<<1, 32>>>(7 * 38 + 1, exact);
        print(exact ? "mma.m16n8k128.s32.b1.b1.s32.and.popc exact" : "mma.m16n8k128.s32.b1.b1.s32.and.popc rounded", 128);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma39<<<1, 32>>>(7 * 39 + 1, exact);
        print(exact ? "mma.m16n8k256.s32.b1.b1.s32.and.popc exact" : "mma.m16n8k256.s32.b1.b1.s32.and.popc rounded", 128);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma40<<<1, 32>>>(7 * 40 + 1, exact);
        print(exact ? "mma.m8n8k4.f64.f64.f64.f64 exact" : "mma.m8n8k4.f64.f64.f64.f64 rounded", 128);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma41<<<1, 32>>>(7 * 41 + 1, exact);
        print(exact ? "mma.m16n8k4.f64.f64.f64.f64 exact" : "mma.m16n8k4.f64.f64.f64.f64 rounded", 256);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma42<<<1, 32>>>(7 * 42 + 1, exact);
        print(exact ? "mma.m16n8k8.f64.f64.f64.f64 exact" : "mma.m16n8k8.f64.f64.f64.f64 rounded", 256);
    }
    for (int exact = 1; exact >= 0; exact--) {
        mma43<<<1, 32>>>(7 * 43 + 1, exact);
        print(exact ? "mma.m16n8k16.f64.f64.f64.f64 exact" : "mma.m16n8k16.f64.f64.f64.f64 rounded", 256);
    }
    loads<1, false><<<1, 32>>>();
    print("ldmatrix x1 trans false", 128);
    loads<1, true><<<1, 32>>>();
    print("ldmatrix x1 trans true", 128);
    loads<2, false><<<1, 32>>>();
    print("ldmatrix x2 trans false", 128);
    loads<2, true><<<1, 32>>>();
    print("ldmatrix x2 trans true", 128);
    loads<4, false><<<1, 32>>>();
    print("ldmatrix x4 trans false", 128);
    loads<4, true><<<1, 32>>>();
    print("ldmatrix x4 trans true", 128);
    stores<1, false><<<1, 32>>>();
    print("stmatrix x1 trans false", 256);
    stores<2, true><<<1, 32>>>();
    print("stmatrix x2 trans true", 256);
    stores<4, false><<<1, 32>>>();
    print("stmatrix x4 trans false", 256);
    turns<<<1, 32>>>();
    print("movmatrix", 32);
}
