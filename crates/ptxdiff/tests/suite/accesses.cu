// Pairs of kernels `NAME_a` and `NAME_b` that differ in single accesses, calls and branches, and pairs that don't differ.

#define KERNEL extern "C" __global__ void

// Through a plain and through a volatile pointer.
#define SCAN(NAME, QUALIFIER)                                                                                          \
    KERNEL NAME(int *out)                                                                                              \
    {                                                                                                                  \
        __shared__ int tile[64];                                                                                       \
        int t = threadIdx.x;                                                                                           \
        QUALIFIER int *data = tile + t;                                                                                \
        data[0] = 0;                                                                                                   \
        data[32] = t;                                                                                                  \
        data[32] += data[31];                                                                                          \
        data[32] += data[30];                                                                                          \
        out[t] = data[32];                                                                                             \
    }
SCAN(scan_a, volatile)
SCAN(scan_b, )

KERNEL loaded_twice_a(const int *in, int *out)
{
    int x = in[threadIdx.x];
    out[0] = x;
    out[1] = in[threadIdx.x];
}
KERNEL loaded_twice_b(const int *__restrict__ in, int *__restrict__ out)
{
    int x = in[threadIdx.x];
    out[0] = x;
    out[1] = in[threadIdx.x];
}
KERNEL vectorised_a(const float *in, float *out)
{
    int i = 4 * threadIdx.x;
    float x = in[i], y = in[i + 1], z = in[i + 2], w = in[i + 3];
    out[threadIdx.x] = x + y + z + w;
}
KERNEL vectorised_b(const float *in, float *out)
{
    float4 v = reinterpret_cast<const float4 *>(in)[threadIdx.x];
    out[threadIdx.x] = v.x + v.y + v.z + v.w;
}
KERNEL merged_a(short *out)
{
    volatile short *p = out + 2 * threadIdx.x;
    p[0] = 1;
    p[1] = 1;
}
KERNEL merged_b(short *out)
{
    volatile int *p = reinterpret_cast<int *>(out + 2 * threadIdx.x);
    p[0] = 0x10001;
}
KERNEL made_atomic_a(int *bins, const int *keys)
{
    bins[keys[threadIdx.x]]++;
}
KERNEL made_atomic_b(int *bins, const int *keys)
{
    atomicAdd(&bins[keys[threadIdx.x]], 1);
}
KERNEL reduction_a(int *bins, const int *keys, int *out)
{
    out[threadIdx.x] = atomicAdd(&bins[keys[threadIdx.x]], 1);
}
KERNEL reduction_b(int *bins, const int *keys, int *out)
{
    asm volatile("red.global.add.u32 [%0], 1;" ::"l"(&bins[keys[threadIdx.x]]) : "memory");
    out[threadIdx.x] = 0;
}
KERNEL atomic_scope_a(int *count, int *out)
{
    out[threadIdx.x] = atomicAdd(count, 1);
}
KERNEL atomic_scope_b(int *count, int *out)
{
    out[threadIdx.x] = atomicAdd_block(count, 1);
}
KERNEL copy_async_a(const int *in, int *out)
{
    __shared__ int tile[256];
    int t = threadIdx.x;
    tile[t] = in[t];
    __syncthreads();
    out[t] = tile[t ^ 1];
}
KERNEL copy_async_b(const int *in, int *out)
{
    __shared__ int tile[256];
    int t = threadIdx.x;
    unsigned to = (unsigned)__cvta_generic_to_shared(tile + t);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4; cp.async.wait_all;" ::"r"(to), "l"(in + t) : "memory");
    __syncthreads();
    out[t] = tile[t ^ 1];
}
KERNEL volatile_dropped_a(int *flag, int *out)
{
    out[threadIdx.x] = *(volatile int *)flag;
}
KERNEL volatile_dropped_b(int *flag, int *out)
{
    out[threadIdx.x] = *flag;
}
KERNEL spin_a(int *flag, int *out)
{
    while (*(volatile int *)flag == 0) {
    }
    out[threadIdx.x] = 1;
}
KERNEL spin_b(int *flag, int *out)
{
    while (*flag == 0) {
    }
    out[threadIdx.x] = 1;
}

// A call and its body.
#define BODY                                                                                                           \
    {                                                                                                                  \
        int x = p[0] ^ 85;                                                                                             \
        return __popc(x) * x;                                                                                          \
    }
__device__ __noinline__ int called(const int *p) BODY
__device__ __forceinline__ int inlined(const int *p) BODY
KERNEL call_a(const int *in, int *out) { out[threadIdx.x] = called(in + threadIdx.x); }
KERNEL call_b(const int *in, int *out) { out[threadIdx.x] = inlined(in + threadIdx.x); }

// A branch and a selection.
KERNEL selected_a(const int *in, int *out, int n)
{
    int x = in[threadIdx.x];
    if (x > n) {
        asm volatile("" : "+r"(x));
        x = n;
    }
    out[threadIdx.x] = x;
}
KERNEL selected_b(const int *in, int *out, int n)
{
    int x = in[threadIdx.x];
    asm("{.reg .pred p; setp.gt.s32 p, %0, %1; selp.b32 %0, %1, %0, p;}" : "+r"(x) : "r"(n));
    out[threadIdx.x] = x;
}

// Nothing differs but names and order.
KERNEL renamed_a(const int *in, int *out, int n)
{
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < n)
        out[index] = in[index] + n;
}
KERNEL renamed_b(const int *from, int *to, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (!(i < count))
        return;
    to[i] = count + from[i];
}
KERNEL reordered_loads_a(const int *x, const int *y, int *out)
{
    int a = x[threadIdx.x];
    int b = y[threadIdx.x];
    out[threadIdx.x] = a - b;
}
KERNEL reordered_loads_b(const int *x, const int *y, int *out)
{
    int b = y[threadIdx.x];
    asm volatile("" ::: "memory");
    int a = x[threadIdx.x];
    out[threadIdx.x] = a - b;
}
