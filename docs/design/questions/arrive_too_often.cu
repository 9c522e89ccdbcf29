// Two arrivals at an mbarrier of one in one phase, and three: which parity and how many are pending? Expected: undefined; parity 0 after two (two phases), 1 after three.
#include <cstdint>
#include <cstdio>
__device__ uint32_t at(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
__global__ void k(int count, int by)
{
    __shared__ uint64_t bar;
    uint32_t b = at(&bar);
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(b), "r"(count) : "memory");
    asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0], %1; }" ::"r"(b), "r"(by) : "memory");
    uint32_t p0, p1;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(p0) : "r"(b) : "memory");
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 1; selp.u32 %0, 1, 0, p; }" : "=r"(p1) : "r"(b) : "memory");
    printf("count %d, arrivals %d: phase 0 complete %u, phase 1 complete %u, word %016llx\n", count, by, p0, p1, (unsigned long long)*(volatile uint64_t *)&bar);
}
int main()
{
    for (int count = 1; count <= 3; count++)
        for (int by = 1; by <= 5; by++) {
            k<<<1, 1>>>(count, by);
            cudaError_t e = cudaDeviceSynchronize();
            if (e != cudaSuccess) { printf("count %d, arrivals %d: %s\n", count, by, cudaGetErrorString(e)); return 1; }
        }
}
