// Pairs of kernels `NAME_a` and `NAME_b` in which accesses, barriers and fences stand elsewhere.

#define KERNEL extern "C" __global__ void
#define SYNC(NUMBER) asm volatile("bar.sync " #NUMBER ";" ::: "memory")

// A store on the other side of a barrier.
KERNEL store_behind_barrier_a(int *out)
{
    __shared__ int tile[256];
    int t = threadIdx.x;
    tile[t] = t;
    __syncthreads();
    out[t] = tile[t ^ 1];
}
KERNEL store_behind_barrier_b(int *out)
{
    __shared__ int tile[256];
    int t = threadIdx.x;
    __syncthreads();
    tile[t] = t;
    out[t] = tile[t ^ 1];
}
KERNEL store_before_barrier_a(int *out)
{
    __shared__ int tile[256];
    int t = threadIdx.x;
    tile[t] = t;
    __syncthreads();
    int x = tile[t ^ 1];
    __syncthreads();
    tile[t] = x + 1;
    __syncthreads();
    out[t] = tile[t ^ 3];
}
KERNEL store_before_barrier_b(int *out)
{
    __shared__ int tile[256];
    int t = threadIdx.x;
    tile[t] = t;
    __syncthreads();
    int x = tile[t ^ 1];
    tile[t] = x + 1;
    __syncthreads();
    __syncthreads();
    out[t] = tile[t ^ 3];
}
KERNEL load_before_barrier_a(const int *in, int *out)
{
    int t = threadIdx.x;
    __syncthreads();
    out[t] = in[t ^ 1];
}
KERNEL load_before_barrier_b(const int *in, int *out)
{
    int t = threadIdx.x;
    int x = in[t ^ 1];
    __syncthreads();
    out[t] = x;
}
KERNEL atomic_behind_barrier_a(int *out, int *count)
{
    int t = threadIdx.x;
    atomicAdd(count, t);
    __syncthreads();
    out[t] = *count;
}
KERNEL atomic_behind_barrier_b(int *out, int *count)
{
    int t = threadIdx.x;
    __syncthreads();
    atomicAdd(count, t);
    out[t] = *count;
}
KERNEL store_behind_warp_barrier_a(int *out)
{
    __shared__ int tile[32];
    int t = threadIdx.x;
    tile[t] = t;
    __syncwarp();
    out[t] = tile[t ^ 1];
}
KERNEL store_behind_warp_barrier_b(int *out)
{
    __shared__ int tile[32];
    int t = threadIdx.x;
    __syncwarp();
    tile[t] = t;
    out[t] = tile[t ^ 1];
}
// A message: the data must be stored in front of the fence, the flag behind it.
KERNEL store_behind_fence_a(volatile int *data, volatile int *flag)
{
    *data = 42;
    __threadfence();
    *flag = 1;
}
KERNEL store_behind_fence_b(volatile int *data, volatile int *flag)
{
    __threadfence();
    *data = 42;
    *flag = 1;
}

// A barrier of each iteration, and one in front of the loop, or behind it.
KERNEL barrier_out_of_loop_a(const int *in, int *out, int n)
{
    int t = threadIdx.x;
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        __syncthreads();
        out[256 * i + t] = in[256 * i + t] + 1;
    }
}
KERNEL barrier_out_of_loop_b(const int *in, int *out, int n)
{
    int t = threadIdx.x;
    __syncthreads();
#pragma unroll 1
    for (int i = 0; i < n; i++)
        out[256 * i + t] = in[256 * i + t] + 1;
}
KERNEL barrier_into_loop_a(const int *in, int *out, int n)
{
    int t = threadIdx.x;
#pragma unroll 1
    for (int i = 0; i < n; i++)
        out[256 * i + t] = in[256 * i + t] + 1;
    __syncthreads();
    out[t - 1] = in[t];
}
KERNEL barrier_into_loop_b(const int *in, int *out, int n)
{
    int t = threadIdx.x;
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        out[256 * i + t] = in[256 * i + t] + 1;
        __syncthreads();
    }
    out[t - 1] = in[t];
}
KERNEL barrier_number_a(int *out)
{
    __shared__ int tile[256];
    int t = threadIdx.x;
    tile[t] = t;
    SYNC(0);
    out[t] = tile[t ^ 1];
}
KERNEL barrier_number_b(int *out)
{
    __shared__ int tile[256];
    int t = threadIdx.x;
    tile[t] = t;
    SYNC(1);
    out[t] = tile[t ^ 1];
}

// Two volatile accesses change places.
KERNEL volatile_stores_a(volatile int *data, volatile int *flag)
{
    *data = 42;
    *flag = 1;
}
KERNEL volatile_stores_b(volatile int *data, volatile int *flag)
{
    *flag = 1;
    *data = 42;
}
KERNEL volatile_loads_a(const volatile int *data, const volatile int *flag, int *out)
{
    int x = *flag;
    int y = *data;
    out[0] = x;
    out[1] = y;
}
KERNEL volatile_loads_b(const volatile int *data, const volatile int *flag, int *out)
{
    int y = *data;
    int x = *flag;
    out[0] = x;
    out[1] = y;
}
// Dekker's: a store and a load.
KERNEL volatile_store_and_load_a(volatile int *mine, volatile int *theirs, int *out)
{
    *mine = 1;
    out[0] = *theirs;
}
KERNEL volatile_store_and_load_b(volatile int *mine, volatile int *theirs, int *out)
{
    int x = *theirs;
    *mine = 1;
    out[0] = x;
}
// Plain ones may change places.
KERNEL plain_stores_a(int *data, int *flag)
{
    *data = 42;
    asm volatile("" ::: "memory");
    *flag = 1;
}
KERNEL plain_stores_b(int *data, int *flag)
{
    *flag = 1;
    asm volatile("" ::: "memory");
    *data = 42;
}

#define LOAD(HOW, X, P) asm volatile("ld." HOW ".global.u32 %0, [%1];" : "=r"(X) : "l"(P) : "memory")
#define STORE(HOW, X, P) asm volatile("st." HOW ".global.u32 [%0], %1;" ::"l"(P), "r"(X) : "memory")
#define ADD(HOW, OLD, X, P) \
    asm volatile("atom." HOW ".global.add.u32 %0, [%1], %2;" : "=r"(OLD) : "l"(P), "r"(X) : "memory")
#define FENCE(HOW) asm volatile("fence." HOW ";" ::: "memory")

// An ordering in the access, and in a fence beside it.
KERNEL acquire_regrouped_a(const unsigned *flag, unsigned *data)
{
    unsigned x;
    LOAD("acquire.gpu", x, flag);
    data[1] = data[0] + x;
}
KERNEL acquire_regrouped_b(const unsigned *flag, unsigned *data)
{
    unsigned x;
    LOAD("relaxed.gpu", x, flag);
    FENCE("acq_rel.gpu");
    data[1] = data[0] + x;
}
KERNEL release_regrouped_a(unsigned *flag, unsigned *data)
{
    data[0] = 1;
    STORE("release.gpu", 1u, flag);
}
KERNEL release_regrouped_b(unsigned *flag, unsigned *data)
{
    data[0] = 1;
    FENCE("acq_rel.gpu");
    STORE("relaxed.gpu", 1u, flag);
}
KERNEL both_regrouped_a(unsigned *count, unsigned *data)
{
    unsigned x;
    data[0] = 1;
    ADD("acq_rel.gpu", x, 1u, count);
    data[1] = data[2] + x;
}
KERNEL both_regrouped_b(unsigned *count, unsigned *data)
{
    unsigned x;
    data[0] = 1;
    FENCE("acq_rel.gpu");
    ADD("relaxed.gpu", x, 1u, count);
    FENCE("acq_rel.gpu");
    data[1] = data[2] + x;
}
// Near misses: no fence, a fence on the wrong side, a fence of too narrow a scope.
KERNEL acquire_lost_a(const unsigned *flag, unsigned *data)
{
    unsigned x;
    LOAD("acquire.gpu", x, flag);
    data[1] = data[0] + x;
}
KERNEL acquire_lost_b(const unsigned *flag, unsigned *data)
{
    unsigned x;
    LOAD("relaxed.gpu", x, flag);
    data[1] = data[0] + x;
}
KERNEL fence_on_wrong_side_a(const unsigned *flag, unsigned *data)
{
    unsigned x;
    LOAD("acquire.gpu", x, flag);
    data[1] = data[0] + x;
}
KERNEL fence_on_wrong_side_b(const unsigned *flag, unsigned *data)
{
    unsigned x;
    FENCE("acq_rel.gpu");
    LOAD("relaxed.gpu", x, flag);
    data[1] = data[0] + x;
}
KERNEL fence_too_narrow_a(const unsigned *flag, unsigned *data)
{
    unsigned x;
    LOAD("acquire.gpu", x, flag);
    data[1] = data[0] + x;
}
KERNEL fence_too_narrow_b(const unsigned *flag, unsigned *data)
{
    unsigned x;
    LOAD("relaxed.gpu", x, flag);
    FENCE("acq_rel.cta");
    data[1] = data[0] + x;
}
KERNEL fence_lost_a(volatile int *data, volatile int *flag)
{
    *data = 42;
    __threadfence();
    *flag = 1;
}
KERNEL fence_lost_b(volatile int *data, volatile int *flag)
{
    *data = 42;
    *flag = 1;
}
KERNEL fence_narrowed_a(volatile int *data, volatile int *flag)
{
    *data = 42;
    __threadfence();
    *flag = 1;
}
KERNEL fence_narrowed_b(volatile int *data, volatile int *flag)
{
    *data = 42;
    __threadfence_block();
    *flag = 1;
}
KERNEL barrier_lost_a(int *out)
{
    __shared__ int tile[256];
    int t = threadIdx.x;
    tile[t] = t;
    __syncthreads();
    out[t] = tile[t ^ 1];
}
KERNEL barrier_lost_b(int *out)
{
    __shared__ int tile[256];
    int t = threadIdx.x;
    tile[t] = t;
    out[t] = tile[t ^ 1];
}
KERNEL barrier_of_warp_a(int *out)
{
    __shared__ int tile[256];
    int t = threadIdx.x;
    tile[t] = t;
    __syncthreads();
    out[t] = tile[t ^ 1];
}
KERNEL barrier_of_warp_b(int *out)
{
    __shared__ int tile[256];
    int t = threadIdx.x;
    tile[t] = t;
    __syncwarp();
    out[t] = tile[t ^ 1];
}
