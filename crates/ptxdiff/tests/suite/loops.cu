// Pairs of kernels `NAME_a` and `NAME_b` whose loops differ. `pairs.yaml` says what must be told of each pair.

#define KERNEL extern "C" __global__ void

// Unrolled by four, constant number of iterations.
#define SUM(NAME, PRAGMA)                                                                                              \
    KERNEL NAME(const float *in, float *out)                                                                           \
    {                                                                                                                  \
        const float *row = in + 64 * threadIdx.x;                                                                      \
        float sum = 0;                                                                                                 \
        _Pragma(PRAGMA) for (int i = 0; i < 64; i++) sum += row[i];                                                    \
        out[threadIdx.x] = sum;                                                                                        \
    }
SUM(constant_by_four_a, "unroll 1")
SUM(constant_by_four_b, "unroll 4")
SUM(constant_four_to_eight_a, "unroll 4")
SUM(constant_four_to_eight_b, "unroll 8")
SUM(constant_fully_a, "unroll 1")
SUM(constant_fully_b, "unroll 64")

// With a remainder loop.
#define SUM_N(NAME, PRAGMA)                                                                                            \
    KERNEL NAME(const float *in, float *out, int n)                                                                    \
    {                                                                                                                  \
        float sum = 0;                                                                                                 \
        _Pragma(PRAGMA) for (int i = 0; i < n; i++) sum += in[i];                                                      \
        out[threadIdx.x] = sum;                                                                                        \
    }
SUM_N(remainder_by_four_a, "unroll 1")
SUM_N(remainder_by_four_b, "unroll 4")
SUM_N(remainder_by_two_a, "unroll 1")
SUM_N(remainder_by_two_b, "unroll 2")
SUM_N(remainder_four_to_two_a, "unroll 4")
SUM_N(remainder_four_to_two_b, "unroll 2")

// A barrier in the body.
#define STEPS(NAME, PRAGMA, BOUND)                                                                                     \
    KERNEL NAME(float *out, int n)                                                                                     \
    {                                                                                                                  \
        __shared__ float tile[256];                                                                                    \
        int t = threadIdx.x;                                                                                           \
        tile[t] = out[t];                                                                                              \
        _Pragma(PRAGMA) for (int i = 0; i < BOUND; i++)                                                                \
        {                                                                                                              \
            __syncthreads();                                                                                           \
            float left = tile[(t + i) & 255];                                                                          \
            __syncthreads();                                                                                           \
            tile[t] += left;                                                                                           \
        }                                                                                                              \
        out[t] = tile[t];                                                                                              \
    }
STEPS(barrier_by_four_a, "unroll 1", 8)
STEPS(barrier_by_four_b, "unroll 4", 8)
STEPS(barrier_fully_a, "unroll 1", 4)
STEPS(barrier_fully_b, "unroll 4", 4)
STEPS(barrier_remainder_a, "unroll 1", n)
STEPS(barrier_remainder_b, "unroll 4", n)

// A reduction tree: the distance halves.
#define TREE(NAME, PRAGMA)                                                                                             \
    KERNEL NAME(const int *in, int *out)                                                                               \
    {                                                                                                                  \
        __shared__ int tile[256];                                                                                      \
        int t = threadIdx.x;                                                                                           \
        tile[t] = in[t];                                                                                               \
        _Pragma(PRAGMA) for (int d = 128; d > 0; d /= 2)                                                               \
        {                                                                                                              \
            __syncthreads();                                                                                           \
            if (t < d)                                                                                                 \
                tile[t] += tile[t + d];                                                                                \
        }                                                                                                              \
        if (t == 0)                                                                                                    \
            out[0] = tile[0];                                                                                          \
    }
TREE(tree_a, "unroll 1")
TREE(tree_b, "unroll")

// Loads and stores.
#define SCALE(NAME, PRAGMA)                                                                                            \
    KERNEL NAME(const float *in, float *out, int n)                                                                    \
    {                                                                                                                  \
        _Pragma(PRAGMA) for (int i = threadIdx.x; i < n; i += 128) out[i] = 2.0f * in[i];                              \
    }
SCALE(scale_a, "unroll 1")
SCALE(scale_b, "unroll 4")

// Pointers that walk, no index.
#define WALK(NAME, PRAGMA)                                                                                             \
    KERNEL NAME(const int *from, const int *end, int *to)                                                              \
    {                                                                                                                  \
        _Pragma(PRAGMA) while (from != end) *to++ = *from++ + 1;                                                       \
    }
WALK(walk_a, "unroll 1")
WALK(walk_b, "unroll 4")

// Atomics.
#define COUNT(NAME, PRAGMA)                                                                                            \
    KERNEL NAME(const int *keys, int *bins)                                                                            \
    {                                                                                                                  \
        _Pragma(PRAGMA) for (int i = 0; i < 16; i++) atomicAdd(&bins[keys[threadIdx.x + 32 * i]], 1);                  \
    }
COUNT(atomics_a, "unroll 1")
COUNT(atomics_b, "unroll 4")

// Shuffles.
#define SHUFFLE(NAME, PRAGMA)                                                                                          \
    KERNEL NAME(int *data)                                                                                             \
    {                                                                                                                  \
        int value = data[threadIdx.x];                                                                                 \
        _Pragma(PRAGMA) for (int d = 16; d > 0; d /= 2) value += __shfl_down_sync(0xffffffff, value, d);               \
        data[threadIdx.x] = value;                                                                                     \
    }
SHUFFLE(shuffle_a, "unroll 1")
SHUFFLE(shuffle_b, "unroll")

// The inner of two loops.
#define NESTED(NAME, PRAGMA)                                                                                           \
    KERNEL NAME(const float *in, float *out, int n)                                                                    \
    {                                                                                                                  \
        _Pragma("unroll 1") for (int row = threadIdx.x; row < n; row += 32)                                            \
        {                                                                                                              \
            float sum = 0;                                                                                             \
            _Pragma(PRAGMA) for (int i = 0; i < 4; i++) sum += in[4 * row + i] * in[i];                                \
            out[row] = sum;                                                                                            \
        }                                                                                                              \
    }
NESTED(nested_a, "unroll 1")
NESTED(nested_b, "unroll")

// Two loops of which one is unrolled.
#define TWO(NAME, PRAGMA)                                                                                              \
    KERNEL NAME(const float *in, float *out, int n)                                                                    \
    {                                                                                                                  \
        float sum = 0;                                                                                                 \
        _Pragma("unroll 1") for (int i = 0; i < n; i++) sum += in[i];                                                  \
        out[threadIdx.x] = sum;                                                                                        \
        float product = 1;                                                                                             \
        _Pragma(PRAGMA) for (int i = 0; i < 32; i++) product *= out[64 + i];                                           \
        out[32 + threadIdx.x] = product;                                                                               \
    }
TWO(one_of_two_a, "unroll 1")
TWO(one_of_two_b, "unroll 4")

// Arithmetic alone.
#define HASH(NAME, PRAGMA)                                                                                             \
    KERNEL NAME(unsigned *data)                                                                                        \
    {                                                                                                                  \
        unsigned x = data[threadIdx.x];                                                                                \
        _Pragma(PRAGMA) for (int i = 0; i < 32; i++)                                                                   \
        {                                                                                                              \
            x ^= x << 13;                                                                                              \
            x ^= x >> 17;                                                                                              \
            x ^= x << 5;                                                                                               \
        }                                                                                                              \
        data[threadIdx.x] = x;                                                                                         \
    }
HASH(arithmetic_a, "unroll 1")
HASH(arithmetic_b, "unroll 4")

// A tiled product: a barrier, shared loads and an inner loop.
#define TILED(NAME, PRAGMA)                                                                                            \
    KERNEL NAME(const float *x, const float *y, float *z, int n)                                                       \
    {                                                                                                                  \
        __shared__ float a[16][16], b[16][16];                                                                         \
        int row = threadIdx.y, column = threadIdx.x;                                                                   \
        float sum = 0;                                                                                                 \
        _Pragma("unroll 1") for (int k = 0; k < n; k += 16)                                                            \
        {                                                                                                              \
            a[row][column] = x[row * n + k + column];                                                                  \
            b[row][column] = y[(k + row) * n + column];                                                                \
            __syncthreads();                                                                                           \
            _Pragma(PRAGMA) for (int i = 0; i < 16; i++) sum += a[row][i] * b[i][column];                              \
            __syncthreads();                                                                                           \
        }                                                                                                              \
        z[row * n + column] = sum;                                                                                     \
    }
TILED(tiled_by_four_a, "unroll 1")
TILED(tiled_by_four_b, "unroll 4")
TILED(tiled_fully_a, "unroll 1")
TILED(tiled_fully_b, "unroll")

// A store that is elided in an unrolled loop is elided nevertheless: the second array is not written at all.
KERNEL unrolled_and_elided_a(const float *in, float *out, float *log)
{
#pragma unroll 1
    for (int i = 0; i < 16; i++) {
        float x = in[i];
        out[i] = x;
        log[i] = x + 1;
    }
}
KERNEL unrolled_and_elided_b(const float *in, float *out, float *log)
{
#pragma unroll 4
    for (int i = 0; i < 16; i++)
        out[i] = in[i];
}

// The second of two barriers of a loop is missing: lost, though a barrier is left in the loop.
#define TWICE(NAME, BARRIER)                                                                                           \
    KERNEL NAME(float *out, int n)                                                                                     \
    {                                                                                                                  \
        __shared__ float tile[256];                                                                                    \
        int t = threadIdx.x;                                                                                           \
        tile[t] = out[t];                                                                                              \
        _Pragma("unroll 1") for (int i = 0; i < n; i++)                                                                \
        {                                                                                                              \
            __syncthreads();                                                                                           \
            float left = tile[(t + i) & 255];                                                                          \
            BARRIER;                                                                                                   \
            tile[t] += left;                                                                                           \
        }                                                                                                              \
        out[t] = tile[t];                                                                                              \
    }
TWICE(barrier_lost_in_loop_a, __syncthreads())
TWICE(barrier_lost_in_loop_b, (void)0)

// Software pipelining: the next element is loaded before the present one is used.
KERNEL pipelined_a(const volatile float *in, float *out, int n)
{
    float sum = 0;
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        float x = in[32 * i + threadIdx.x];
        sum = sum * x + 1.0f;
    }
    out[threadIdx.x] = sum;
}
KERNEL pipelined_b(const volatile float *in, float *out, int n)
{
    float sum = 0, x = in[threadIdx.x];
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        float next = in[32 * (i + 1) + threadIdx.x];
        sum = sum * x + 1.0f;
        x = next;
    }
    out[threadIdx.x] = sum;
}

// Double buffering: the next tile is stored while the present one is read.
KERNEL double_buffered_a(const float *in, float *out, int n)
{
    __shared__ float tile[256];
    int t = threadIdx.x;
    float sum = 0;
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        tile[t] = in[256 * i + t];
        __syncthreads();
        sum += tile[t ^ 1];
        __syncthreads();
    }
    out[t] = sum;
}
KERNEL double_buffered_b(const float *in, float *out, int n)
{
    __shared__ float tile[2][256];
    int t = threadIdx.x;
    float sum = 0;
    tile[0][t] = in[t];
    __syncthreads();
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        tile[(i + 1) & 1][t] = in[256 * (i + 1) + t];
        sum += tile[i & 1][t ^ 1];
        __syncthreads();
    }
    out[t] = sum;
}

// One loop, and two of half its iterations.
KERNEL split_range_a(const float *in, float *out, int n, int m)
{
#pragma unroll 1
    for (int i = 0; i < n; i++)
        out[i] = in[i] * 3.0f;
}
KERNEL split_range_b(const float *in, float *out, int n, int m)
{
#pragma unroll 1
    for (int i = 0; i < m; i++)
        out[i] = in[i] * 3.0f;
#pragma unroll 1
    for (int i = m; i < n; i++)
        out[i] = in[i] * 3.0f;
}

// One loop with two statements, and two loops with one each.
KERNEL distributed_a(const float *in, float *out, const float *from, float *to, int n)
{
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        out[i] = in[i] * 3.0f;
        to[i] = from[i] + 1.0f;
    }
}
KERNEL distributed_b(const float *in, float *out, const float *from, float *to, int n)
{
#pragma unroll 1
    for (int i = 0; i < n; i++)
        out[i] = in[i] * 3.0f;
#pragma unroll 1
    for (int i = 0; i < n; i++)
        to[i] = from[i] + 1.0f;
}

// A condition that no iteration changes, decided in front of two loops.
KERNEL unswitched_a(const float *in, float *out, int n, int mode)
{
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        float x = in[i];
        asm volatile("" ::: "memory");
        if (mode)
            out[i] = x * 3.0f;
        else
            out[i] = x + 1.0f;
    }
}
KERNEL unswitched_b(const float *in, float *out, int n, int mode)
{
    if (mode) {
#pragma unroll 1
        for (int i = 0; i < n; i++)
            out[i] = in[i] * 3.0f;
    } else {
#pragma unroll 1
        for (int i = 0; i < n; i++)
            out[i] = in[i] + 1.0f;
    }
}

// A store of each iteration, and one behind the loop.
KERNEL store_sunk_a(const int *in, volatile int *out, int n)
{
    int sum = 0;
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        sum += in[i];
        out[threadIdx.x] = sum;
    }
}
KERNEL store_sunk_b(const int *in, volatile int *out, int n)
{
    int sum = 0;
#pragma unroll 1
    for (int i = 0; i < n; i++)
        sum += in[i];
    out[threadIdx.x] = sum;
}

// A load of each iteration, and one in front of the loop.
KERNEL load_hoisted_a(const int *scale, const int *in, int *out, int n)
{
#pragma unroll 1
    for (int i = 0; i < n; i++)
        out[i] = in[i] * *scale;
}
KERNEL load_hoisted_b(const int *__restrict__ scale, const int *__restrict__ in, int *__restrict__ out, int n)
{
#pragma unroll 1
    for (int i = 0; i < n; i++)
        out[i] = in[i] * *scale;
}

// A load that is in another loop was not hoisted.
KERNEL load_in_another_loop_a(const volatile int *flag, int *out, int n)
{
#pragma unroll 1
    for (int i = 0; i < n; i++)
        out[i] = *flag;
#pragma unroll 1
    for (int i = 0; i < n; i++)
        out[i + n] += 1;
}
KERNEL load_in_another_loop_b(const volatile int *flag, int *out, int n)
{
#pragma unroll 1
    for (int i = 0; i < n; i++)
        out[i] = 7;
#pragma unroll 1
    for (int i = 0; i < n; i++)
        out[i + n] += *flag;
}

// Copies of four words by a loop, and with vectors.
KERNEL copy_vectorised_a(const float4 *in, float4 *out)
{
    const float *from = (const float *)(in + threadIdx.x);
    float *to = (float *)(out + threadIdx.x);
#pragma unroll 1
    for (int i = 0; i < 4; i++)
        to[i] = from[i];
}
KERNEL copy_vectorised_b(const float4 *in, float4 *out)
{
    out[threadIdx.x] = in[threadIdx.x];
}
