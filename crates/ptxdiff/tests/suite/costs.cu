// Pairs of kernels `NAME_a` and `NAME_b` that compute the same in another way, or something else.

#define KERNEL extern "C" __global__ void
#define EACH(NAME, TYPE, EXPRESSION)                                                                                   \
    KERNEL NAME(const TYPE *in, TYPE *out)                                                                             \
    {                                                                                                                  \
        TYPE x = in[threadIdx.x];                                                                                      \
        out[threadIdx.x] = (EXPRESSION);                                                                               \
    }
#define EACH_N(NAME, TYPE, EXPRESSION)                                                                                 \
    KERNEL NAME(const TYPE *in, TYPE *out, TYPE y)                                                                     \
    {                                                                                                                  \
        TYPE x = in[threadIdx.x];                                                                                      \
        out[threadIdx.x] = (EXPRESSION);                                                                               \
    }

// What the optimiser may not touch.
__device__ __forceinline__ unsigned rem_u32(unsigned x, unsigned y)
{
    unsigned r;
    asm("rem.u32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
    return r;
}
#define OPERATION(NAME, TYPE, CONSTRAINT, TEXT)                                                                        \
    __device__ __forceinline__ TYPE NAME(TYPE x)                                                                       \
    {                                                                                                                  \
        TYPE r;                                                                                                        \
        asm(TEXT : "=" CONSTRAINT(r) : CONSTRAINT(x));                                                                 \
        return r;                                                                                                      \
    }
OPERATION(rem_u32_8, unsigned, "r", "rem.u32 %0, %1, 8;")
OPERATION(rem_s32_8, int, "r", "rem.s32 %0, %1, 8;")
OPERATION(div_u32_7, unsigned, "r", "div.u32 %0, %1, 7;")
OPERATION(div_u32_8, unsigned, "r", "div.u32 %0, %1, 8;")
OPERATION(div_s32_8, int, "r", "div.s32 %0, %1, 8;")
OPERATION(div_s32_7, int, "r", "div.s32 %0, %1, 7;")
OPERATION(mul_s32_3, int, "r", "mul.lo.s32 %0, %1, 3;")
OPERATION(mul_s64_8, long long, "l", "mul.lo.s64 %0, %1, 8;")
OPERATION(shl_s32_1, int, "r", "shl.b32 %0, %1, 1;")
OPERATION(shl_s32_2, int, "r", "shl.b32 %0, %1, 2;")
OPERATION(shl_s64_3, long long, "l", "shl.b64 %0, %1, 3;")

EACH(remainder_mask_a, unsigned, rem_u32_8(x))
EACH(remainder_mask_b, unsigned, x & 7)
EACH(signed_remainder_mask_a, int, rem_s32_8(x))
EACH(signed_remainder_mask_b, int, x & 7)
EACH(signed_remainder_a, int, rem_s32_8(x))
EACH(signed_remainder_b, int, x % 8)
EACH(wrong_mask_a, unsigned, rem_u32_8(x))
EACH(wrong_mask_b, unsigned, x & 8)
EACH_N(remainder_of_power_a, unsigned, rem_u32(x, 16 * y))
EACH_N(remainder_of_power_b, unsigned, x & (16 * y - 1))
EACH(quotient_a, unsigned, div_u32_7(x))
EACH(quotient_b, unsigned, x / 7)
EACH(signed_quotient_a, int, div_s32_7(x))
EACH(signed_quotient_b, int, x / 7)
EACH(wrong_magic_a, unsigned, div_u32_7(x))
EACH(wrong_magic_b, unsigned, __umulhi(x, 0x92492493u) >> 2)
EACH(quotient_shift_a, unsigned, div_u32_8(x))
EACH(quotient_shift_b, unsigned, x >> 3)
EACH(signed_quotient_shift_a, int, div_s32_8(x))
EACH(signed_quotient_shift_b, int, x >> 3)
EACH(signed_quotient_of_power_a, int, div_s32_8(x))
EACH(signed_quotient_of_power_b, int, x / 8)
EACH(product_sum_a, int, mul_s32_3(x))
EACH(product_sum_b, int, shl_s32_1(x) + x)
EACH(long_product_a, long long, mul_s64_8(x))
EACH(long_product_b, long long, shl_s64_3(x))
EACH(wrong_product_a, int, mul_s32_3(x))
EACH(wrong_product_b, int, shl_s32_2(x) + x)

// Indices: what is computed is the same element.
KERNEL index_width_a(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i];
}
KERNEL index_width_b(const int *in, int *out, int n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i];
}
KERNEL index_shift_a(const int *in, int *out)
{
    int t = threadIdx.x;
    asm("{.reg .b64 s, q; mul.wide.s32 s, %1, 4; add.s64 q, %2, s; ld.global.u32 %0, [q];}" : "=r"(t) : "r"(t), "l"(in));
    out[0] = t;
}
KERNEL index_shift_b(const int *in, int *out)
{
    int t = threadIdx.x;
    asm("{.reg .b64 s, q; cvt.s64.s32 s, %1; shl.b64 s, s, 2; add.s64 q, %2, s; ld.global.u32 %0, [q];}" : "=r"(t) : "r"(t), "l"(in));
    out[0] = t;
}

// Floating point, by flags.
KERNEL contracted(const float *x, const float *y, float *z)
{
    int i = threadIdx.x;
    z[i] = x[i] * y[i] + z[i];
}
KERNEL contracted_in_loop(const float *x, const float *y, float *z, int n)
{
    float sum = 0;
#pragma unroll 1
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    z[threadIdx.x] = sum;
}
KERNEL divided(const float *x, const float *y, float *z)
{
    int i = threadIdx.x;
    z[i] = x[i] / y[i];
}
KERNEL rooted(const float *x, float *z)
{
    int i = threadIdx.x;
    z[i] = sqrtf(x[i]);
}
KERNEL waved(const float *x, float *z)
{
    int i = threadIdx.x;
    z[i] = __expf(x[i]) + 1.0f / x[i];
}
KERNEL divided_by_constant_a(const float *x, float *z)
{
    int i = threadIdx.x;
    float r;
    asm("div.rn.f32 %0, %1, 0f41000000;" : "=f"(r) : "f"(x[i]));
    z[i] = r;
}
KERNEL divided_by_constant_b(const float *x, float *z)
{
    int i = threadIdx.x;
    z[i] = x[i] * 0.125f;
}

// Where the value is read through.
KERNEL read_only_a(const int *in, int *out)
{
    out[threadIdx.x] = in[threadIdx.x ^ 1];
}
KERNEL read_only_b(const int *__restrict__ in, int *__restrict__ out)
{
    out[threadIdx.x] = in[threadIdx.x ^ 1];
}
__constant__ float weights[16];
KERNEL constant_a(const float *w, const float *in, float *out)
{
    out[threadIdx.x] = in[threadIdx.x] * w[3];
}
KERNEL constant_b(const float *w, const float *in, float *out)
{
    out[threadIdx.x] = in[threadIdx.x] * weights[3];
}

// One store for two arms.
KERNEL tails_a(const int *in, int *out)
{
    int t = threadIdx.x;
    int x = in[t];
    if (x > 0) {
        asm volatile("// one" ::: "memory");
        out[t] = x * 3;
        asm volatile("// one" ::: "memory");
    } else {
        asm volatile("// two" ::: "memory");
        out[t] = x - 5;
        asm volatile("// two" ::: "memory");
    }
}
KERNEL tails_b(const int *in, int *out)
{
    int t = threadIdx.x;
    int x = in[t];
    if (x > 0) {
        asm volatile("// one" ::: "memory");
        x = x * 3;
    } else {
        asm volatile("// two" ::: "memory");
        x = x - 5;
    }
    out[t] = x;
}

// One atomic operation a warp.
KERNEL aggregated_a(const int *in, int *count)
{
    if (in[threadIdx.x] > 0)
        atomicAdd(count, 1);
}
KERNEL aggregated_b(const int *in, int *count)
{
    if (in[threadIdx.x] > 0) {
        unsigned lanes = __activemask();
        if ((threadIdx.x & 31) == __ffs(lanes) - 1)
            atomicAdd(count, __popc(lanes));
    }
}

// Values in local memory.
KERNEL spilled_a(const int *in, int *out, int k)
{
    int x = in[threadIdx.x];
    int y = in[threadIdx.x + 32];
    out[threadIdx.x] = k & 1 ? x : y;
}
KERNEL spilled_b(const int *in, int *out, int k)
{
    volatile int values[2];
    values[0] = in[threadIdx.x];
    values[1] = in[threadIdx.x + 32];
    out[threadIdx.x] = values[1 - (k & 1)];
}

// The size of a warp: a constant that PTX has a name for.
KERNEL warp_size_a(unsigned *out)
{
    out[threadIdx.x] = threadIdx.x % warpSize;
}
KERNEL warp_size_b(unsigned *out)
{
    out[threadIdx.x] = threadIdx.x % 32u;
}
