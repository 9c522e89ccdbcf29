// One thread begins a bulk store of 32 KiB from shared memory and exits without waiting; other blocks of the same launch write other values there at once. Expected: foreign words > 0.
#include <cstdint>
#include <cstdio>
__global__ void k(uint32_t *out)
{
    extern __shared__ __align__(128) uint32_t tile[];
    const int n = 8192;
    for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = blockIdx.x;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2; cp.async.bulk.commit_group;" ::"l"(out + (size_t)blockIdx.x * n), "r"((uint32_t)__cvta_generic_to_shared(tile)), "r"(n * 4) : "memory");
}
int main()
{
    const int blocks = 8192, n = 8192;
    uint32_t *out;
    cudaMallocManaged(&out, (size_t)blocks * n * 4);
    k<<<blocks, 1024, n * 4>>>(out);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    long foreign = 0;
    for (size_t i = 0; i < (size_t)blocks * n; i++) foreign += out[i] != i / n;
    printf("%ld foreign words\n", foreign);
}
