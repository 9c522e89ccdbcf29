// One of the four warps of a warpgroup comes late to an instruction of a product, or never: how long the others stay where. Expected: they wait for it.
#include <cstdint>
#include <cstdio>
__global__ void k(int stage, long long late, long long *at, float *sums)
{
    __shared__ __align__(1024) uint16_t tile[8192];
    for (int i = threadIdx.x; i < 8192; i += 128) tile[i] = 0x3c00;
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    long long begin = clock64();
    bool last = threadIdx.x / 32 == 3;
    auto point = [&](int s) {
        if (last && s == stage) { if (late < 0) asm volatile("exit;"); while (clock64() - begin < late); }
        if (threadIdx.x % 32 == 0) at[threadIdx.x / 32 * 5 + s] = clock64() - begin;
    };
    uint64_t a = (__cvta_generic_to_shared(tile) >> 4) | 8ull << 16 | 16ull << 32, b = a + 512;
    float d[4] = {};
    point(0);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    point(1);
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, 1, 1, 1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b) : "memory");
    point(2);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    point(3);
    asm volatile("wgmma.wait_group.sync.aligned 0;" : "+f"(d[0]) :: "memory");
    point(4);
    if (threadIdx.x < 32) for (int i = threadIdx.x; i < 8192; i += 32) tile[i] = 0x4000;
    sums[threadIdx.x] = d[0];
}
int main()
{
    long long *at; float *sums;
    cudaMallocHost(&at, 160); cudaMallocHost(&sums, 512);
    for (long long late : {1000000ll, -1ll})
        for (int s = 0; s < 4; s++) {
            k<<<1, 128>>>(s, late, at, sums);
            cudaError_t error = cudaDeviceSynchronize();
            printf("%lld at %d: %d;", late, s, error);
            if (!error) {
                for (int w : {0, 3}) { for (int s = 0; s < 5; s++) printf(" %lld", at[w * 5 + s]); printf("; "); }
                printf("%g %g", sums[0], sums[127]);
            }
            printf("\n");
        }
}
