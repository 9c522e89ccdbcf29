// Which tensor maps the driver makes, and what copies with them leave in memory, printed as checksums: one line a case. The same program runs on a
// GPU, whose output is kept beside this file, and under `racetrap exec`. With an argument it prints the bytes themselves.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>
#include <string>
#include <vector>

typedef unsigned char Byte;

const unsigned SHARED = 8192, TENSOR = 32768, MARGIN = 1024, MEMORY = TENSOR + 2 * MARGIN;

// A word of what memory holds: numbers of all kinds, and some that are special for one type or another.
__host__ __device__ unsigned word(unsigned i) {
    unsigned h = i * 0x9e3779b1u;
    h ^= h >> 15;
    h *= 0x85ebca77u;
    h ^= h >> 13;
    switch (h % 61) {
    case 0: return 0x00000001;
    case 1: return 0x807fffff;
    case 2: return 0x00400000;
    case 3: return 0x7f800000;
    case 4: return 0xff800000;
    case 5: return 0x7fc00000;
    case 6: return 0x7f800001;
    case 7: return 0x3f801000;
    case 8: return 0x3f803000;
    case 9: return 0x3f800fff;
    case 10: return 0x7f7fffff;
    case 11: return 0xffffffff;
    case 12: return 0x80000000;
    case 13: return 0x00001000;
    case 14: return 0x7c007e00;
    case 15: return 0x83ff0001;
    default: return h;
    }
}

enum Kind { LOAD, STORE, ADD, MIN, MAX, INC, DEC, AND, OR, XOR };
const char *const kinds[] = {"load", "store", "add", "min", "max", "inc", "dec", "and", "or", "xor"};

struct Copy {
    int kind, rank, im2col;
    unsigned shared, bytes;
    int at[5];
    unsigned short offsets[3];
};

#define INTO(text, ...) asm volatile(text :: "r"(to), "l"(&map), "r"(bar), __VA_ARGS__ : "memory")
#define FROM(text, ...) asm volatile(text :: "l"(&map), "r"(to), __VA_ARGS__ : "memory")
#define LOADED ".shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
#define PIXELS ".shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], "
#define A(d) "r"(c.at[d])
#define O(d) "h"(c.offsets[d])
#define STORED(op) \
    switch (c.rank) { \
    case 1: FROM(op ".1d.global.shared::cta.tile.bulk_group [%0, {%2}], [%1];", A(0)); break; \
    case 2: FROM(op ".2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];", A(0), A(1)); break; \
    case 3: FROM(op ".3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];", A(0), A(1), A(2)); break; \
    case 4: FROM(op ".4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];", A(0), A(1), A(2), A(3)); break; \
    case 5: FROM(op ".5d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];", A(0), A(1), A(2), A(3), A(4)); break; \
    }

__global__ void run(const __grid_constant__ CUtensorMap map, Copy c, unsigned *out) {
    extern __shared__ __align__(1024) unsigned tile[];
    __shared__ uint64_t barrier;
    unsigned bar = (unsigned)__cvta_generic_to_shared(&barrier);
    unsigned to = (unsigned)__cvta_generic_to_shared(tile) + c.shared;
    for (unsigned i = threadIdx.x; i < SHARED / 4; i += blockDim.x)
        tile[i] = word(i + 100000);
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(bar) : "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (c.kind == LOAD) {
        if (threadIdx.x == 0) {
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(bar), "r"(c.bytes) : "memory");
            if (c.im2col)
                switch (c.rank) {
                case 3: INTO("cp.async.bulk.tensor.3d" PIXELS "[%1, {%3, %4, %5}], [%2], {%6};", A(0), A(1), A(2), O(0)); break;
                case 4: INTO("cp.async.bulk.tensor.4d" PIXELS "[%1, {%3, %4, %5, %6}], [%2], {%7, %8};", A(0), A(1), A(2), A(3), O(0), O(1)); break;
                case 5: INTO("cp.async.bulk.tensor.5d" PIXELS "[%1, {%3, %4, %5, %6, %7}], [%2], {%8, %9, %10};", A(0), A(1), A(2), A(3), A(4), O(0), O(1), O(2)); break;
                }
            else
                switch (c.rank) {
                case 1: INTO("cp.async.bulk.tensor.1d" LOADED "[%1, {%3}], [%2];", A(0)); break;
                case 2: INTO("cp.async.bulk.tensor.2d" LOADED "[%1, {%3, %4}], [%2];", A(0), A(1)); break;
                case 3: INTO("cp.async.bulk.tensor.3d" LOADED "[%1, {%3, %4, %5}], [%2];", A(0), A(1), A(2)); break;
                case 4: INTO("cp.async.bulk.tensor.4d" LOADED "[%1, {%3, %4, %5, %6}], [%2];", A(0), A(1), A(2), A(3)); break;
                case 5: INTO("cp.async.bulk.tensor.5d" LOADED "[%1, {%3, %4, %5, %6, %7}], [%2];", A(0), A(1), A(2), A(3), A(4)); break;
                }
        }
        unsigned done = 0;
        while (!done)
            asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}" : "=r"(done) : "r"(bar) : "memory");
    } else if (threadIdx.x == 0) {
        switch (c.kind) {
        case STORE: STORED("cp.async.bulk.tensor"); break;
        case ADD: STORED("cp.reduce.async.bulk.tensor.add"); break;
        case MIN: STORED("cp.reduce.async.bulk.tensor.min"); break;
        case MAX: STORED("cp.reduce.async.bulk.tensor.max"); break;
        case INC: STORED("cp.reduce.async.bulk.tensor.inc"); break;
        case DEC: STORED("cp.reduce.async.bulk.tensor.dec"); break;
        case AND: STORED("cp.reduce.async.bulk.tensor.and"); break;
        case OR: STORED("cp.reduce.async.bulk.tensor.or"); break;
        case XOR: STORED("cp.reduce.async.bulk.tensor.xor"); break;
        }
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
    __syncthreads();
    if (c.kind == LOAD)
        for (unsigned i = threadIdx.x; i < SHARED / 4; i += blockDim.x)
            out[i] = tile[i];
}

struct Map {
    unsigned type = 0, rank = 2, channels = 0, pixels = 0, interleave = 0, swizzle = 0, promotion = 0, fill = 0;
    bool im2col = false;
    unsigned skew = 0;
    cuuint64_t dims[6] = {}, strides[6] = {};
    cuuint32_t box[6] = {}, steps[6] = {1, 1, 1, 1, 1, 1};
    int lower[3] = {}, upper[3] = {};
};

unsigned size_of(unsigned type) {
    static const unsigned sizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    return type < 13 ? sizes[type] : 1;
}

template <typename F> F entry(const char *name) {
    void *found = nullptr;
    cudaDriverEntryPointQueryResult result;
    cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result);
    if (!found) {
        printf("no %s\n", name);
        exit(1);
    }
    return (F)found;
}

Byte *memory;
unsigned *out;
std::vector<Byte> before(MEMORY);
bool dumps;
uint64_t state = 1;

int below(int n) {
    uint64_t z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return (int)((z ^ z >> 31) % (unsigned)n);
}
bool one_in(int n) { return below(n) == 0; }

template <typename T> std::string list(const char *name, const T *values, int count) {
    std::string text = std::string(" ") + name + "=";
    for (int i = 0; i < count; i++)
        text += (i ? "," : "") + std::to_string(values[i]);
    return text;
}

CUresult encode(const Map &m, CUtensorMap *map) {
    static auto tiled = entry<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
    static auto im2col = entry<decltype(&cuTensorMapEncodeIm2col)>("cuTensorMapEncodeIm2col");
    void *at = memory + MARGIN + m.skew;
    auto type = (CUtensorMapDataType)m.type;
    auto interleave = (CUtensorMapInterleave)m.interleave;
    auto swizzle = (CUtensorMapSwizzle)m.swizzle;
    auto promotion = (CUtensorMapL2promotion)m.promotion;
    auto fill = (CUtensorMapFloatOOBfill)m.fill;
    if (m.im2col)
        return im2col(map, type, m.rank, at, m.dims, m.strides, m.lower, m.upper, m.channels, m.pixels, m.steps, interleave, swizzle, promotion, fill);
    return tiled(map, type, m.rank, at, m.dims, m.strides, m.box, m.steps, interleave, swizzle, promotion, fill);
}

std::string described(const Map &m) {
    int r = m.rank > 5 ? 5 : m.rank;
    std::string text = m.im2col ? "im2col" : "tile";
    text += " type=" + std::to_string(m.type) + " rank=" + std::to_string(m.rank) + " skew=" + std::to_string(m.skew);
    text += list("dims", m.dims, r) + list("strides", m.strides, r ? r - 1 : 0);
    if (m.im2col)
        text += list("lower", m.lower, r > 2 ? r - 2 : 0) + list("upper", m.upper, r > 2 ? r - 2 : 0) + " channels=" + std::to_string(m.channels) + " pixels=" + std::to_string(m.pixels);
    else
        text += list("box", m.box, r);
    text += list("steps", m.steps, r);
    unsigned rest[] = {m.interleave, m.swizzle, m.promotion, m.fill};
    return text + list("modes", rest, 4);
}

uint64_t bytes_of(const Map &m) {
    uint64_t bytes = size_of(m.type);
    if (m.im2col)
        return bytes * m.channels * m.pixels;
    for (unsigned i = 0; i < m.rank; i++)
        bytes *= i ? (m.box[i] + m.steps[i] - 1) / m.steps[i] : m.box[i];
    return bytes;
}

// Bytes of shared memory: with a swizzle, rows are as long as its span.
uint64_t room_of(const Map &m) {
    static const unsigned spans[] = {0, 32, 64, 128};
    uint64_t row = (m.im2col ? m.channels : m.box[0]) * (uint64_t)size_of(m.type);
    return row ? bytes_of(m) / row * (row > spans[m.swizzle & 3] ? row : spans[m.swizzle & 3]) : 0;
}

void print(const std::string &text, const Byte *bytes, unsigned count, const Byte *old) {
    uint64_t sum = 0xcbf29ce484222325ull;
    for (unsigned i = 0; i < count; i++)
        sum = (sum ^ bytes[i]) * 0x100000001b3ull;
    printf("%s sum=%016llx\n", text.c_str(), (unsigned long long)sum);
    if (dumps) {
        printf(">");
        for (unsigned i = 0; i < count; i++)
            if (bytes[i] != old[i])
                printf(" %x:%02x", i, bytes[i]);
        printf("\n");
    }
}

void copy(const Map &m, Copy c) {
    alignas(64) CUtensorMap map = {};
    std::string text = described(m);
    CUresult made = encode(m, &map);
    if (made != CUDA_SUCCESS) {
        printf("%s made=%d\n", text.c_str(), (int)made);
        return;
    }
    c.rank = m.rank;
    c.im2col = m.im2col;
    c.bytes = (unsigned)bytes_of(m);
    text += std::string(" ") + kinds[c.kind] + list("at", c.at, m.rank) + " shared=" + std::to_string(c.shared);
    if (m.im2col)
        text += list("offsets", c.offsets, m.rank - 2);
    cudaMemcpy(memory, before.data(), MEMORY, cudaMemcpyHostToDevice);
    run<<<1, 128, SHARED>>>(map, c, out);
    cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) {
        printf("%s error=%d\n", text.c_str(), (int)error);
        exit(1);
    }
    if (c.kind == LOAD) {
        std::vector<Byte> now(SHARED), old(SHARED);
        cudaMemcpy(now.data(), out, SHARED, cudaMemcpyDeviceToHost);
        for (unsigned i = 0; i < SHARED / 4; i++) {
            unsigned w = word(i + 100000);
            memcpy(&old[4 * i], &w, 4);
        }
        print(text, now.data(), SHARED, old.data());
    } else {
        std::vector<Byte> now(MEMORY);
        cudaMemcpy(now.data(), memory, MEMORY, cudaMemcpyDeviceToHost);
        print(text, now.data(), MEMORY, before.data());
    }
}

void set_strides(Map &m, bool padded) {
    uint64_t stride = m.dims[0] * size_of(m.type);
    for (unsigned i = 0; i + 1 < m.rank; i++) {
        stride = (stride + 15) / 16 * 16 + (padded ? 16 * below(3) : 0);
        m.strides[i] = stride;
        stride *= m.dims[i + 1];
    }
}

bool fits(const Map &m) {
    uint64_t end = size_of(m.type);
    for (unsigned i = 0; i < m.rank; i++)
        end += (m.dims[i] - 1) * (i ? m.strides[i - 1] : size_of(m.type));
    return end <= TENSOR && room_of(m) <= SHARED - 1024;
}

// The innermost coordinate is a multiple of 16 bytes, and those of a store are not negative: a GPU takes anything else for an illegal instruction.
void make_legal(const Map &m, Copy &c) {
    int unit = 16 / size_of(m.type);
    c.at[0] = (c.at[0] + 4096 * unit) / unit * unit - 4096 * unit;
    for (unsigned i = 0; i < m.rank; i++)
        if (c.kind != LOAD && c.at[i] < 0)
            c.at[i] = 0;
}

int some_kind(unsigned type) {
    static const char *const legal[] = {"1", "1", "12345678", "1234789", "12347", "134", "1234", "12", "12", "1234", "12", "1", "1"};
    const char *of = legal[type];
    if (!strcmp(of, "12345678"))
        of = "123456789";
    return of[below((int)strlen(of))] - '0';
}

void some_tile() {
    Map m;
    Copy c = {};
    do {
        m = Map();
        m.type = one_in(4) ? 11 + below(2) : below(13);
        m.rank = 1 + below(5);
        m.swizzle = below(4);
        static const unsigned spans[] = {256, 32, 64, 128};
        unsigned pieces = 1 + below(spans[m.swizzle] / 16);
        m.box[0] = pieces * 16 / size_of(m.type);
        if (m.box[0] > 256)
            m.box[0] = 256;
        for (unsigned i = 0; i < m.rank; i++) {
            if (i)
                m.box[i] = 1 + below(m.rank < 4 ? 12 : 5);
            m.dims[i] = 1 + below(i == 0 ? 64 : m.rank < 4 ? 20 : 6);
            if (one_in(4))
                m.steps[i] = 1 + below(4);
        }
        m.fill = m.type >= 6 && one_in(2);
        m.promotion = below(4);
        set_strides(m, one_in(2));
    } while (!fits(m));
    for (unsigned i = 0; i < m.rank; i++)
        c.at[i] = one_in(3) ? 0 : below((int)m.dims[i] + m.box[i] + 2) - (int)m.box[i];
    c.shared = 128 * below(8);
    c.kind = one_in(2) ? LOAD : some_kind(m.type);
    make_legal(m, c);
    copy(m, c);
}

void some_pixels() {
    Map m;
    Copy c = {};
    do {
        m = Map();
        m.im2col = true;
        m.type = below(13);
        m.rank = 3 + below(3);
        m.swizzle = below(4);
        static const unsigned spans[] = {256, 32, 64, 128};
        m.channels = (1 + below(spans[m.swizzle] / 16)) * 16 / size_of(m.type);
        m.pixels = 1 + below(40);
        for (unsigned i = 0; i < m.rank; i++)
            m.dims[i] = 1 + below(i == 0 ? 64 : i + 1 == m.rank ? 4 : 9);
        for (unsigned i = 1; i + 1 < m.rank; i++) {
            if (one_in(4))
                m.steps[i] = 1 + below(3);
            m.lower[i - 1] = below(4) - 2;
            do
                m.upper[i - 1] = below(4) - 2;
            while ((int)m.dims[i] + m.upper[i - 1] <= m.lower[i - 1]);
        }
        m.fill = m.type >= 6 && one_in(2);
        set_strides(m, one_in(2));
    } while (m.channels > 256 || !fits(m));
    c.at[0] = one_in(2) ? 0 : below((int)m.dims[0] + 4);
    for (unsigned i = 1; i + 1 < m.rank; i++)
        c.at[i] = m.lower[i - 1] + below((int)m.dims[i] + m.upper[i - 1] - m.lower[i - 1]);
    c.at[m.rank - 1] = below((int)m.dims[m.rank - 1] + 1);
    for (int i = 0; i < 3; i++)
        c.offsets[i] = (unsigned short)below(3);
    c.shared = 128 * below(8);
    make_legal(m, c);
    copy(m, c);
}

// A map with one argument changed: whether there is such a map.
void some_argument() {
    Map m;
    m.im2col = one_in(3);
    m.type = below(13);
    m.rank = m.im2col ? 3 + below(3) : 1 + below(5);
    m.swizzle = below(4);
    m.box[0] = m.channels = 16 / size_of(m.type);
    m.pixels = 8;
    for (unsigned i = 0; i < m.rank; i++) {
        m.dims[i] = 16 + below(16);
        if (i)
            m.box[i] = 1 + below(8);
    }
    set_strides(m, false);
    switch (below(22)) {
    case 0: m.rank = 0; break;
    case 1: m.rank = m.im2col ? 1 + below(2) : 6; break;
    case 2: m.skew = 8; break;
    case 3: m.skew = 16; break;
    case 4: m.dims[below(m.rank)] = 0; break;
    case 5: m.dims[m.rank - 1] = (1ull << 32) + below(2); break;
    case 6: m.strides[below(m.rank)] += 8; break;
    case 7: m.strides[m.rank - 1 ? m.rank - 2 : 0] = (1ull << 40) - 16 + 16 * below(2); break;
    case 8: m.box[below(m.rank)] = 0; m.channels = 0; break;
    case 9: m.box[m.rank - 1] = 256 + below(2); m.pixels = 1024 + below(2); break;
    case 10: m.box[0]++; m.channels++; break;
    case 11: m.steps[below(m.rank)] = 0; break;
    case 12: m.steps[below(m.rank)] = 8 + below(2); break;
    case 13: m.interleave = 3; break;
    case 14: m.swizzle = 7; break;
    case 15: m.fill = 1 + below(2); break;
    case 16: m.promotion = 1 + below(4); break;
    case 17: m.strides[below(m.rank)] = 16; break;
    case 18: m.strides[0] = 0; break;
    case 19: m.box[0] = m.channels = 256 / size_of(m.type) / (1 + below(4)); break;
    case 20: m.lower[below(3)] = below(2) ? -129 : 127 - below(130); break;
    case 21: m.upper[below(3)] = below(2) ? -17 : 15 + below(2); break;
    }
    alignas(64) CUtensorMap map = {};
    printf("%s made=%d\n", described(m).c_str(), (int)encode(m, &map));
}

int main(int argc, char **argv) {
    dumps = argc > 1;
    for (unsigned i = 0; i < MEMORY / 4; i++) {
        unsigned w = word(i);
        memcpy(&before[4 * i], &w, 4);
    }
    cudaMalloc(&memory, MEMORY);
    cudaMalloc(&out, SHARED);
    for (int k = 0; k < 400; k++)
        some_argument();
    for (int k = 0; k < 500; k++)
        some_tile();
    for (int k = 0; k < 200; k++)
        some_pixels();
    printf("end\n");
}
