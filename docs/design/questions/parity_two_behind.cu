// Phases 0 and 1 are complete (current phase 2, parity 0). Ask for parity 0 (phase 0: two behind, or phase 2: current) and 1. Expected: parity 0 -> 0, parity 1 -> 1.
#include <cstdint>
#include <cstdio>
__global__ void k()
{
    __shared__ uint64_t bar;
    uint32_t b = (uint32_t)__cvta_generic_to_shared(&bar), p[2];
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(b) : "memory");
    for (int i = 0; i < 2; i++)
        asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" ::"r"(b) : "memory");
    for (int i = 0; i < 2; i++)
        asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(p[i]) : "r"(b), "r"(i) : "memory");
    printf("parity 0: %u, parity 1: %u\n", p[0], p[1]);
}
int main() { k<<<1, 1>>>(); printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize())); }
