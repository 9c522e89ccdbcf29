// Half precision, vectors, packed video operations and wide arithmetic.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
struct alignas(16) Packet { int a; short b[3]; double c; };
__global__ void __launch_bounds__(256) numbers(const float4 *v, Packet p, __half2 *h, __nv_bfloat162 *b,
                                               unsigned long long *w) {
  int i = threadIdx.x;
  float4 x = v[i];
  h[i] = __hfma2(h[i], __floats2half2_rn(x.x, x.y), __float2half2_rn(0.1f));
  b[i] = __hadd2(b[i], __floats2bfloat162_rn(x.z, -1.5f));
  w[i] = __umul64hi(w[i], 0x123456789abcdefULL) + __vadd4(i, 0x01020304) + __funnelshift_l(i, p.a, 5);
  w[i] += (unsigned long long)(p.c * sin((double)x.w)) + p.b[i % 3];
  asm volatile("prefetch.global.L2 [%0];" ::"l"(v + i));
  float r;
  asm("ld.global.L1::no_allocate.L2::128B.f32 %0, [%1+4];" : "=f"(r) : "l"(v));
  w[i] += __float2ull_rz(r) + __ldcg(w + 1) + __ldg(w + 2);
}
