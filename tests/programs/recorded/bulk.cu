// What bulk reductions make of special numbers, each with each, printed as words: one line an operation. The same program runs on a GPU, whose output is
// kept beside this file, and under `racetrap exec`.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

template <int T> __device__ void reduce(uint64_t *to, unsigned from, unsigned bytes) {
#define REDUCE(number, name) \
    if (T == number) \
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group" name " [%0], [%1], %2;" :: "l"(to), "r"(from), "r"(bytes) : "memory");
    REDUCE(0, ".add.f32") REDUCE(1, ".add.noftz.f16") REDUCE(2, ".add.noftz.bf16") REDUCE(3, ".add.f64") REDUCE(4, ".min.f16")
    REDUCE(5, ".max.f16") REDUCE(6, ".min.bf16") REDUCE(7, ".max.bf16") REDUCE(8, ".inc.u32") REDUCE(9, ".dec.u32")
}

template <int T> __global__ void reduces(const uint64_t *by, uint64_t *to) {
    __shared__ __align__(128) uint64_t tile[64];
    tile[threadIdx.x] = by[threadIdx.x];
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        reduce<T>(to, (unsigned)__cvta_generic_to_shared(tile), sizeof tile);
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
}

const uint64_t f16[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x83ff, 0x0400, 0x8400, 0x3c00, 0xbc00, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x7d01};
const uint64_t bf16[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x007f, 0x807f, 0x0080, 0x8080, 0x3f80, 0xbf80, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0, 0x7f81};
const uint64_t f32[] = {0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000,
                        0x3f800000, 0xbf800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001};
const uint64_t f64[] = {0, 1ull << 63, 1, 1ull << 63 | 1, (1ull << 52) - 1, 1ull << 63 | ((1ull << 52) - 1), 1ull << 52, 1ull << 63 | 1ull << 52,
                        0x3ff0000000000000, 0xbff0000000000000, 0x7fefffffffffffff, 0xffefffffffffffff,
                        0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0x7ff0000000000001};

template <int T> void print(const char *name, const uint64_t *special, int width) {
    uint64_t *by, *to;
    unsigned char a[512], b[512];
    cudaMalloc(&by, 512);
    cudaMalloc(&to, 512);
    printf("reduce %s", name);
    for (int from = 0; from < 256;) {
        int n = 512 / width < 256 - from ? 512 / width : 256 - from;
        memset(a, 0, 512);
        memset(b, 0, 512);
        for (int k = 0; k < n; k++) {
            memcpy(a + k * width, &special[(from + k) / 16], width);
            memcpy(b + k * width, &special[(from + k) % 16], width);
        }
        cudaMemcpy(by, a, 512, cudaMemcpyHostToDevice);
        cudaMemcpy(to, b, 512, cudaMemcpyHostToDevice);
        reduces<T><<<1, 64>>>(by, to);
        cudaMemcpy(b, to, 512, cudaMemcpyDeviceToHost);
        for (int k = 0; k < n; k++) {
            uint64_t value = 0;
            memcpy(&value, b + k * width, width);
            printf(" %llx", (unsigned long long)value);
        }
        from += n;
    }
    printf("\n");
}

int main() {
    print<0>("add.f32", f32, 4);
    print<1>("add.noftz.f16", f16, 2);
    print<2>("add.noftz.bf16", bf16, 2);
    print<3>("add.f64", f64, 8);
    print<4>("min.f16", f16, 2);
    print<5>("max.f16", f16, 2);
    print<6>("min.bf16", bf16, 2);
    print<7>("max.bf16", bf16, 2);
    print<8>("inc.u32", f32, 4);
    print<9>("dec.u32", f32, 4);
}
