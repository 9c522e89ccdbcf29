// Bulk loads whose size (24), source (8 behind 16) or destination is not aligned. Expected: 16 works, the others end with an error (which?).
#include <cstdint>
#include <cstdio>
#include <cstdlib>
__global__ void k(const char *in, int from, int to, int size)
{
    __shared__ alignas(128) char tile[256];
    __shared__ uint64_t bar;
    uint32_t b = (uint32_t)__cvta_generic_to_shared(&bar), t = (uint32_t)__cvta_generic_to_shared(tile);
    asm volatile("mbarrier.init.shared.b64 [%0], 1; fence.proxy.async.shared::cta;" ::"r"(b) : "memory");
    asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared.b64 s, [%0], %1; }" ::"r"(b), "r"(size) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(t + to), "l"(in + from), "r"(size), "r"(b) : "memory");
    asm volatile("{ .reg .pred p; L: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra L; }" ::"r"(b) : "memory");
    printf("from %d to %d size %d: first byte %d\n", from, to, size, tile[to]);
}
int main(int argc, char **argv)
{
    int a[3] = {0, 0, 16};
    for (int i = 1; i < argc && i < 4; i++) a[i - 1] = atoi(argv[i]); // run: (nothing), 8 0 16, 0 8 16, 0 0 24, 0 0 0
    char *in, host[256];
    for (int i = 0; i < 256; i++) host[i] = i;
    cudaMalloc(&in, 256);
    cudaMemcpy(in, host, 256, cudaMemcpyHostToDevice);
    k<<<1, 1>>>(in, a[0], a[1], a[2]);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
