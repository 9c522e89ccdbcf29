// A product of 64 × 8 halves by a warpgroup, of 16 columns of both factors, in tiles without a swizzle.
#pragma once
#include "../compare.h"
#include <cuda/ptx>
#include <cuda_fp16.h>
namespace ptx = cuda::ptx;

// Core matrices of 8 rows of 16 bytes, one behind the other: along the sum first, then along the rows.
__device__ uint64_t described(const void *tile)
{
    return uint64_t(__cvta_generic_to_shared(tile) >> 4 & 0x3fff) | uint64_t(128 >> 4) << 16 | uint64_t(256 >> 4) << 32;
}

__device__ void begin_product(float (&d)[4], const void *a, const void *b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(described(a)), "l"(described(b))
                 : "memory");
}

__device__ void product_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void product_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> __device__ void product_wait(float (&d)[4])
{
    asm volatile("wgmma.wait_group.sync.aligned %4;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "n"(N) : "memory");
}
