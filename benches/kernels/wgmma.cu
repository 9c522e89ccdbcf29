// C = A · Bᵀ of 512 × 512 halves: tensor copies bring tiles into two stages, and a warpgroup multiplies them.
//
//   racetrap check benches/kernels/wgmma.cu --arch sm_90a --grid 4,8 --block 128 --arg a=tensor:f16[512,512]:box=64,64:swizzle=128B \
//       --arg b=tensor:f16[512,512]:box=128,64:swizzle=128B --arg c=f32[262144]
//
// With -DBUG_WAIT a stage is filled again while a product still reads it.
#include <cstdint>
#include <cuda.h>
#include <cuda_fp16.h>

constexpr int M = 64, N = 128, K = 64, STAGES = 2, SIZE = 512;

struct __align__(1024) Stage {
    __half a[M * K];
    __half b[N * K];
};

__device__ uint32_t shared(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ void wait(uint64_t *bar, uint32_t parity)
{
    asm volatile("{\n.reg .pred p;\nL_%=:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra L_%=;\n}" ::"r"(shared(bar)), "r"(parity) : "memory");
}

__device__ void load(void *to, const CUtensorMap *map, int x, int y, uint64_t *bar)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(shared(to)), "l"(map), "r"(x), "r"(y), "r"(shared(bar)) : "memory");
}

__device__ uint64_t descriptor(const void *p)
{
    return (uint64_t)((shared(p) & 0x3ffff) >> 4) | (uint64_t)1 << 16 | (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 62;
}

#define R8(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])

__device__ void multiply(float (&d)[64], uint64_t a, uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
                 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
                 "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63},"
                 " %64, %65, 1, 1, 1, 0, 0;"
                 : R8(d, 0), R8(d, 8), R8(d, 16), R8(d, 24), R8(d, 32), R8(d, 40), R8(d, 48), R8(d, 56) : "l"(a), "l"(b));
}

__global__ void __launch_bounds__(128) gemm(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float *c)
{
    __shared__ Stage stages[STAGES];
    __shared__ uint64_t full[STAGES];
    int t = threadIdx.x, row = blockIdx.y * M, column = blockIdx.x * N;
    if (t == 0) {
        for (int s = 0; s < STAGES; s++)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared(&full[s])) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    auto fetch = [&](int k) {
        int s = k % STAGES;
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared(&full[s])), "r"((M + N) * K * 2) : "memory");
        load(stages[s].a, &a, k * K, row, &full[s]);
        load(stages[s].b, &b, k * K, column, &full[s]);
    };
    if (t == 0)
        for (int k = 0; k < STAGES; k++)
            fetch(k);
    float d[64] = {};
    for (int k = 0; k < SIZE / K; k++) {
        int s = k % STAGES;
        wait(&full[s], k / STAGES & 1);
        uint64_t first = descriptor(stages[s].a), second = descriptor(stages[s].b);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int i = 0; i < K / 16; i++)
            multiply(d, first + 2 * i, second + 2 * i);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#ifdef BUG_WAIT
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
#else
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#endif
        __syncthreads();
        if (t == 0 && k + STAGES < SIZE / K)
            fetch(k + STAGES);
    }
#ifdef BUG_WAIT
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#endif
    int at = row + t / 32 * 16 + t % 32 / 4;
    for (int i = 0; i < 64; i++)
        c[(at + i / 2 % 2 * 8) * SIZE + column + i / 4 * 8 + t % 4 * 2 + i % 2] = d[i];
}
