// All threads write a tile, meet, and one thread stores it with a bulk copy, without and with fence.proxy.async before the barrier. Expected: wrong words > 0 without (perhaps rarely), 0 with.
#include <cstdint>
#include <cstdio>
template <bool fence> __global__ void k(uint32_t *out, int rounds)
{
    extern __shared__ __align__(128) uint32_t tile[];
    uint32_t t = (uint32_t)__cvta_generic_to_shared(tile);
    int n = blockDim.x * 8;
    for (int r = 1; r <= rounds; r++) {
        for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = r * 65536 + i;
        if (fence) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (threadIdx.x == 0) {
            uint32_t *to = out + ((size_t)blockIdx.x * rounds + r - 1) * n;
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::"l"(to), "r"(t), "r"(n * 4) : "memory");
        }
        __syncthreads();
    }
}
template <bool fence> void run()
{
    const int blocks = 264, rounds = 64, threads = 512, n = threads * 8;
    uint32_t *out;
    size_t words = (size_t)blocks * rounds * n;
    cudaMallocManaged(&out, words * 4);
    long wrong = 0;
    for (int again = 0; again < 5; again++) {
        k<fence><<<blocks, threads, n * 4>>>(out, rounds);
        cudaError_t e = cudaDeviceSynchronize();
        if (e != cudaSuccess) { printf("%s\n", cudaGetErrorString(e)); return; }
        for (size_t i = 0; i < words; i++) wrong += out[i] != (i / n % rounds + 1) * 65536 + i % n;
    }
    printf("%s: %ld of %zu words wrong\n", fence ? "fence" : "no fence", wrong, 5 * words);
    cudaFree(out);
}
int main() { run<false>(); run<true>(); }
