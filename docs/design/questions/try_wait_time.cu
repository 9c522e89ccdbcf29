// How long one try_wait of a phase that never completes blocks, in nanoseconds: without a hint, and with hints. Expected: returns false after a while that grows with the hint.
#include <cstdint>
#include <cstdio>
__device__ unsigned long long now() { unsigned long long t; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)); return t; }
__global__ void k()
{
    __shared__ uint64_t bar;
    uint32_t b = (uint32_t)__cvta_generic_to_shared(&bar), p;
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(b) : "memory");
    unsigned long long t = now();
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(p) : "r"(b) : "memory");
    printf("no hint: %u after %llu ns\n", p, now() - t);
    for (uint32_t hint = 0; hint <= 100000000; hint = hint ? hint * 10 : 1000) {
        t = now();
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0, %2; selp.u32 %0, 1, 0, p; }" : "=r"(p) : "r"(b), "r"(hint) : "memory");
        printf("hint %u: %u after %llu ns\n", hint, p, now() - t);
    }
}
int main() { k<<<1, 1>>>(); printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize())); }
