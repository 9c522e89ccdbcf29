// Pairs of kernels `NAME_a` and `NAME_b` with loops in loops, loads one iteration ahead, switches and ways out of loops, as random kernels
// have them. `pairs.yaml` says what must be told of each pair.

#define KERNEL extern "C" __global__ void
#define LOOP(PRAGMA) _Pragma(PRAGMA) for

// Of two loops, one inside the other, each side unrolls another one.
#define NEST(NAME, OUTER, INNER)                                                                                       \
    KERNEL NAME(const int *in, const int *map, int *out, int n)                                                        \
    {                                                                                                                  \
        int sum = 0;                                                                                                   \
        LOOP(OUTER)(int i = 0; i < 4; i++)                                                                             \
        {                                                                                                              \
            int at = map[64 * i + threadIdx.x];                                                                        \
            LOOP(INNER)(int j = 0; j < n; j++) sum = sum * 3 + in[(at + 64 * j) & 1023];                               \
            out[64 * i + threadIdx.x] = sum;                                                                           \
        }                                                                                                              \
    }
NEST(nest_inner_a, "unroll 1", "unroll 1")
NEST(nest_inner_b, "unroll 1", "unroll 4")
NEST(nest_outer_a, "unroll 1", "unroll 1")
NEST(nest_outer_b, "unroll 4", "unroll 1")
NEST(nest_crossed_a, "unroll 4", "unroll 1")
NEST(nest_crossed_b, "unroll 1", "unroll 4")
NEST(nest_both_a, "unroll 1", "unroll 1")
NEST(nest_both_b, "unroll 2", "unroll 4")

// The same with numbers of iterations that are known, three deep, with a barrier in the middle.
#define DEEP(NAME, OUTER, MIDDLE, INNER)                                                                               \
    KERNEL NAME(int *out, const int *in)                                                                               \
    {                                                                                                                  \
        __shared__ int tile[256];                                                                                      \
        int t = threadIdx.x;                                                                                           \
        LOOP(OUTER)(int i = 0; i < 4; i++)                                                                             \
        {                                                                                                              \
            tile[t] = in[64 * i + t];                                                                                  \
            LOOP(MIDDLE)(int j = 0; j < 2; j++)                                                                        \
            {                                                                                                          \
                __syncthreads();                                                                                       \
                int x = 0;                                                                                             \
                LOOP(INNER)(int k = 0; k < 4; k++) x = x * 5 + tile[(t + 7 * k + j) & 255];                            \
                __syncthreads();                                                                                       \
                tile[t] = x;                                                                                           \
            }                                                                                                          \
            out[64 * i + t] = tile[t];                                                                                 \
        }                                                                                                              \
    }
DEEP(deep_inner_a, "unroll 1", "unroll 1", "unroll 1")
DEEP(deep_inner_b, "unroll 1", "unroll 1", "unroll")
DEEP(deep_middle_a, "unroll 1", "unroll 1", "unroll 1")
DEEP(deep_middle_b, "unroll 1", "unroll", "unroll")
DEEP(deep_all_a, "unroll 1", "unroll 1", "unroll 1")
DEEP(deep_all_b, "unroll", "unroll", "unroll")
DEEP(deep_crossed_a, "unroll", "unroll 1", "unroll 1")
DEEP(deep_crossed_b, "unroll 1", "unroll 1", "unroll")

// Two loops after each other in a third one access one array: the one is unrolled, the other is not.
#define SIBLINGS(NAME, FIRST, SECOND)                                                                                  \
    KERNEL NAME(int *data, int n, int m)                                                                               \
    {                                                                                                                  \
        LOOP("unroll 1")(int i = 0; i < n; i++)                                                                        \
        {                                                                                                              \
            LOOP(FIRST)(int j = 0; j < m; j++) data[64 * j + threadIdx.x] += i;                                        \
            __syncthreads();                                                                                           \
            LOOP(SECOND)(int j = 0; j < m; j++) data[64 * j + (threadIdx.x ^ 1)] *= 3;                                 \
            __syncthreads();                                                                                           \
        }                                                                                                              \
    }
SIBLINGS(siblings_first_a, "unroll 1", "unroll 1")
SIBLINGS(siblings_first_b, "unroll 4", "unroll 1")
SIBLINGS(siblings_crossed_a, "unroll 4", "unroll 1")
SIBLINGS(siblings_crossed_b, "unroll 1", "unroll 4")

// A load for the next iteration, through shared memory.
#define AHEAD(NAME, PRAGMA, BOUND)                                                                                     \
    KERNEL NAME(const int *in, int *out, int n)                                                                        \
    {                                                                                                                  \
        __shared__ int tile[128];                                                                                      \
        int t = threadIdx.x, sum = 0, next = in[t];                                                                    \
        LOOP(PRAGMA)(int i = 0; i < BOUND; i++)                                                                        \
        {                                                                                                              \
            int now = next;                                                                                            \
            next = in[(t + 64 * (i + 1)) & 1023];                                                                      \
            tile[t + 64 * (i & 1)] = now;                                                                              \
            __syncthreads();                                                                                           \
            sum += tile[((t ^ 1) & 63) + 64 * (i & 1)];                                                                \
        }                                                                                                              \
        out[t] = sum;                                                                                                  \
    }
AHEAD(ahead_by_four_a, "unroll 1", n)
AHEAD(ahead_by_four_b, "unroll 4", n)
AHEAD(ahead_fully_a, "unroll 1", 8)
AHEAD(ahead_fully_b, "unroll", 8)
AHEAD(ahead_four_to_two_a, "unroll 4", 8)
AHEAD(ahead_four_to_two_b, "unroll 2", 8)

// Cases of a switch, by the loop's variable and by the thread.
#define CASES(NAME, PRAGMA, OF)                                                                                        \
    KERNEL NAME(int *a, int *b, const int *keys, int n)                                                                \
    {                                                                                                                  \
        int t = threadIdx.x, x = t;                                                                                    \
        LOOP(PRAGMA)(int i = 0; i < 4; i++)                                                                            \
        {                                                                                                              \
            switch (OF) {                                                                                              \
            case 0:                                                                                                    \
                a[64 * i + t] = x;                                                                                     \
                break;                                                                                                 \
            case 1:                                                                                                    \
                x += b[64 * i + t];                                                                                    \
            case 2:                                                                                                    \
                b[t + i] = x * 3;                                                                                      \
                break;                                                                                                 \
            default:                                                                                                   \
                atomicAdd(&a[i], x);                                                                                   \
            }                                                                                                          \
        }                                                                                                              \
        a[512 + t] = x;                                                                                                \
    }
CASES(cases_of_thread_a, "unroll 1", keys[t] & 3)
CASES(cases_of_thread_b, "unroll 4", keys[t] & 3)
CASES(cases_of_iteration_a, "unroll 1", i & 3)
CASES(cases_of_iteration_b, "unroll 4", i & 3)
CASES(cases_by_two_a, "unroll 1", keys[t + i] & 3)
CASES(cases_by_two_b, "unroll 2", keys[t + i] & 3)

// Barriers that only some iterations have, all threads alike.
#define SOMETIMES(NAME, PRAGMA, WHEN)                                                                                  \
    KERNEL NAME(int *out, int n)                                                                                       \
    {                                                                                                                  \
        __shared__ int tile[256];                                                                                      \
        int t = threadIdx.x;                                                                                           \
        tile[t] = out[t];                                                                                              \
        LOOP(PRAGMA)(int i = 0; i < 8; i++)                                                                            \
        {                                                                                                              \
            if (WHEN)                                                                                                  \
                __syncthreads();                                                                                       \
            tile[t] += tile[(t + i) & 255];                                                                            \
        }                                                                                                              \
        out[t] = tile[t];                                                                                              \
    }
SOMETIMES(barrier_of_even_a, "unroll 1", i % 2 == 0)
SOMETIMES(barrier_of_even_b, "unroll 2", i % 2 == 0)
SOMETIMES(barrier_of_even_fully_a, "unroll 1", i % 2 == 0)
SOMETIMES(barrier_of_even_fully_b, "unroll", i % 2 == 0)
SOMETIMES(barrier_if_uniform_a, "unroll 1", n > i)
SOMETIMES(barrier_if_uniform_b, "unroll 4", n > i)
SOMETIMES(barrier_of_last_a, "unroll 1", i > 3)
SOMETIMES(barrier_of_last_b, "unroll", i > 3)

// Ways out of a loop and of an iteration.
#define LEAVES(NAME, PRAGMA, HOW)                                                                                      \
    KERNEL NAME(const int *in, int *out, int n)                                                                        \
    {                                                                                                                  \
        int sum = 0;                                                                                                   \
        LOOP(PRAGMA)(int i = 0; i < 8; i++)                                                                            \
        {                                                                                                              \
            int x = in[64 * i + threadIdx.x];                                                                          \
            if (x == n)                                                                                                \
                HOW;                                                                                                   \
            out[64 * i + threadIdx.x] = x + sum;                                                                       \
            sum ^= x;                                                                                                  \
        }                                                                                                              \
        out[1024 + threadIdx.x] = sum;                                                                                 \
    }
LEAVES(leaves_loop_a, "unroll 1", break)
LEAVES(leaves_loop_b, "unroll 4", break)
LEAVES(leaves_iteration_a, "unroll 1", continue)
LEAVES(leaves_iteration_b, "unroll 4", continue)
LEAVES(leaves_kernel_a, "unroll 1", return)
LEAVES(leaves_kernel_b, "unroll 2", return)

// The first iteration is another one: it is peeled off where the loop is unrolled.
#define FIRST(NAME, PRAGMA)                                                                                            \
    KERNEL NAME(const int *in, int *out, int n)                                                                        \
    {                                                                                                                  \
        int kept = 1;                                                                                                  \
        LOOP(PRAGMA)(int i = 0; i < n; i++)                                                                            \
        {                                                                                                              \
            if (i > 0)                                                                                                 \
                kept = kept * 7 + out[64 * (i - 1)];                                                                   \
            out[64 * i + threadIdx.x] = in[64 * i + threadIdx.x] ^ kept;                                               \
        }                                                                                                              \
    }
FIRST(first_peeled_a, "unroll 1")
FIRST(first_peeled_b, "unroll 4")

// Counting down, by twos, and by powers of two.
#define COUNTS(NAME, PRAGMA, HEAD)                                                                                     \
    KERNEL NAME(const int *in, int *out, int n)                                                                        \
    {                                                                                                                  \
        LOOP(PRAGMA) HEAD out[64 * i + threadIdx.x] = in[64 * i + (threadIdx.x ^ 3)] * 3;                              \
    }
COUNTS(counts_down_a, "unroll 1", (int i = n - 1; i >= 0; i--))
COUNTS(counts_down_b, "unroll 4", (int i = n - 1; i >= 0; i--))
COUNTS(counts_by_two_a, "unroll 1", (int i = 0; i < n; i += 2))
COUNTS(counts_by_two_b, "unroll 4", (int i = 0; i < n; i += 2))
COUNTS(counts_by_powers_a, "unroll 1", (int i = 1; i < 64; i *= 2))
COUNTS(counts_by_powers_b, "unroll", (int i = 1; i < 64; i *= 2))

// A function with accesses, called in each iteration of a nest.
__device__ __noinline__ int sum_of(const int *p, int i)
{
    return p[i & 1023] + p[(i + 1) & 1023];
}
__device__ __forceinline__ int sum_here(const int *p, int i)
{
    return p[i & 1023] + p[(i + 1) & 1023];
}
#define CALLS(NAME, PRAGMA, CALLED)                                                                                    \
    KERNEL NAME(const int *in, int *out, int n)                                                                        \
    {                                                                                                                  \
        LOOP("unroll 1")(int i = 0; i < n; i++)                                                                        \
        {                                                                                                              \
            int x = 0;                                                                                                 \
            LOOP(PRAGMA)(int j = 0; j < 4; j++) x = x * 3 + CALLED(in, threadIdx.x + 5 * j + i);                       \
            out[64 * i + threadIdx.x] = x;                                                                             \
        }                                                                                                              \
    }
CALLS(calls_unrolled_a, "unroll 1", sum_of)
CALLS(calls_unrolled_b, "unroll", sum_of)
CALLS(calls_inlined_a, "unroll 1", sum_of)
CALLS(calls_inlined_b, "unroll 1", sum_here)

// What is missing in a nest is missing, though the nest is unrolled: the log is never written.
#define LOGS(NAME, OUTER, INNER, LOG)                                                                                  \
    KERNEL NAME(const int *in, int *out, int *log, int n)                                                              \
    {                                                                                                                  \
        LOOP(OUTER)(int i = 0; i < 4; i++)                                                                             \
        {                                                                                                              \
            int x = 0;                                                                                                 \
            LOOP(INNER)(int j = 0; j < 4; j++)                                                                         \
            {                                                                                                          \
                x = x * 3 + in[64 * i + 7 * j + threadIdx.x];                                                          \
                LOG;                                                                                                   \
            }                                                                                                          \
            out[64 * i + threadIdx.x] = x;                                                                             \
        }                                                                                                              \
    }
LOGS(log_elided_in_nest_a, "unroll 1", "unroll 1", log[j] = x)
LOGS(log_elided_in_nest_b, "unroll 1", "unroll", (void)0)
LOGS(log_elided_crossed_a, "unroll 1", "unroll", log[j] = x)
LOGS(log_elided_crossed_b, "unroll", "unroll 1", (void)0)
LOGS(fence_lost_in_nest_a, "unroll 1", "unroll 1", __threadfence())
LOGS(fence_lost_in_nest_b, "unroll 1", "unroll", (void)0)
LOGS(atomic_elided_in_nest_a, "unroll 1", "unroll 1", atomicAdd(log + j, x))
LOGS(atomic_elided_in_nest_b, "unroll 1", "unroll", (void)0)

// All barriers of a nest are missing where it is unrolled.
#define WAITS(NAME, PRAGMA, BARRIER)                                                                                   \
    KERNEL NAME(int *out, int n)                                                                                       \
    {                                                                                                                  \
        __shared__ int tile[256];                                                                                      \
        int t = threadIdx.x;                                                                                           \
        tile[t] = out[t];                                                                                              \
        LOOP("unroll 1")(int i = 0; i < n; i++)                                                                        \
        {                                                                                                              \
            LOOP(PRAGMA)(int d = 1; d < 16; d *= 2)                                                                    \
            {                                                                                                          \
                BARRIER;                                                                                               \
                tile[t] += tile[t ^ d];                                                                                \
            }                                                                                                          \
        }                                                                                                              \
        out[t] = tile[t];                                                                                              \
    }
WAITS(barriers_lost_in_nest_a, "unroll 1", __syncthreads())
WAITS(barriers_lost_in_nest_b, "unroll", (void)0)

// A barrier in front of a nest, and in its inner loop.
#define STANDS(NAME, FRONT, OUTER, INNER)                                                                              \
    KERNEL NAME(int *out, int n)                                                                                       \
    {                                                                                                                  \
        __shared__ int tile[256];                                                                                      \
        int t = threadIdx.x;                                                                                           \
        tile[t] = out[t];                                                                                              \
        FRONT;                                                                                                         \
        LOOP("unroll 1")(int i = 0; i < n; i++)                                                                        \
        {                                                                                                              \
            OUTER;                                                                                                     \
            LOOP("unroll 1")(int j = 0; j < n; j++)                                                                    \
            {                                                                                                          \
                INNER;                                                                                                 \
                tile[t] += tile[(t + j) & 255];                                                                        \
            }                                                                                                          \
        }                                                                                                              \
        out[t] = tile[t];                                                                                              \
    }
STANDS(barrier_into_nest_a, __syncthreads(), (void)0, (void)0)
STANDS(barrier_into_nest_b, (void)0, __syncthreads(), (void)0)
STANDS(barrier_into_inner_a, (void)0, __syncthreads(), (void)0)
STANDS(barrier_into_inner_b, (void)0, (void)0, __syncthreads())
STANDS(barrier_out_of_nest_a, (void)0, (void)0, __syncthreads())
STANDS(barrier_out_of_nest_b, __syncthreads(), (void)0, (void)0)

// One inner loop, and two of half its iterations.
#define PARTS(NAME, PARTS)                                                                                             \
    KERNEL NAME(const int *in, int *out, int n, int m)                                                                 \
    {                                                                                                                  \
        LOOP("unroll 1")(int i = 0; i < n; i++)                                                                        \
        {                                                                                                              \
            PARTS                                                                                                      \
        }                                                                                                              \
    }
#define PART(FROM, TO) LOOP("unroll 1")(int j = FROM; j < TO; j++) out[64 * i + j] = in[64 * j + i] * 3;
PARTS(split_in_nest_a, PART(0, 64))
PARTS(split_in_nest_b, PART(0, m) PART(m, 64))
PARTS(split_and_unrolled_a, PART(0, n))
PARTS(split_and_unrolled_b, PART(0, m) LOOP("unroll 4")(int j = m; j < n; j++) out[64 * i + j] = in[64 * j + i] * 3;)

// A load that no inner iteration changes stands in front of the inner loop, and its store behind it.
KERNEL hoisted_in_nest_a(const volatile int *scale, const int *in, int *out, int n)
{
#pragma unroll 1
    for (int i = 0; i < n; i++) {
#pragma unroll 1
        for (int j = 0; j < n; j++)
            out[64 * i + j] = in[j] * scale[i];
    }
}
KERNEL hoisted_in_nest_b(const volatile int *scale, const int *in, int *out, int n)
{
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        int by = scale[i];
#pragma unroll 1
        for (int j = 0; j < n; j++)
            out[64 * i + j] = in[j] * by;
    }
}
KERNEL sunk_in_nest_a(const int *in, volatile int *out, int n)
{
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        int sum = 0;
#pragma unroll 1
        for (int j = 0; j < n; j++) {
            sum += in[64 * i + j];
            out[i] = sum;
        }
    }
}
KERNEL sunk_in_nest_b(const int *in, volatile int *out, int n)
{
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        int sum = 0;
#pragma unroll 1
        for (int j = 0; j < n; j++)
            sum += in[64 * i + j];
        out[i] = sum;
    }
}

// All threads of a block return together in front of a nest with barriers.
#define RETURNS(NAME, PRAGMA)                                                                                          \
    KERNEL NAME(int *out, int n)                                                                                       \
    {                                                                                                                  \
        __shared__ int tile[256];                                                                                      \
        int t = threadIdx.x;                                                                                           \
        tile[t] = out[t];                                                                                              \
        if (n < 3) {                                                                                                   \
            out[512 + t] = t;                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        LOOP("unroll 1")(int i = 0; i < n; i++)                                                                        \
        {                                                                                                              \
            __syncthreads();                                                                                           \
            LOOP(PRAGMA)(int j = 0; j < 4; j++) tile[t] += tile[(t + 64 * j) & 255];                                   \
            __syncthreads();                                                                                           \
        }                                                                                                              \
        out[t] = tile[t];                                                                                              \
    }
RETURNS(returns_before_nest_a, "unroll 1")
RETURNS(returns_before_nest_b, "unroll")
