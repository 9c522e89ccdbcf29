// Sums tiles that come by bulk copies into two stages. The mbarrier of a stage counts the bytes that have arrived, and its phases tell one tile in
// the stage from the next.

#include <cuda/ptx>
namespace ptx = cuda::ptx;

constexpr int THREADS = 64;
constexpr int BYTES = THREADS * sizeof(int);

#if defined(BUG_TOO_FEW)
constexpr int EXPECTED = BYTES / 2;
#elif defined(BUG_TOO_MANY)
constexpr int EXPECTED = 2 * BYTES;
#else
constexpr int EXPECTED = BYTES;
#endif

__device__ void load(int *stage, const int *tile, uint64_t *full)
{
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, full, EXPECTED); //~[wrong-parity] mbarrier-misuse atomic
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, stage, tile, BYTES, full); //~[wrong-parity] async-copy-hazard#1 copy //~[wrong-parity] async-copy-hazard#2 copy
}

__global__ void sum_tiles(int *out, const int *in, int tiles)
{
    __shared__ alignas(16) int stages[2][THREADS];
    __shared__ uint64_t full[2];
    int t = threadIdx.x;
    in += blockIdx.x * tiles * THREADS;
    if (t == 0) {
        for (uint64_t &one : full)
            ptx::mbarrier_init(&one, 1);
        load(stages[0], in, &full[0]);
    }
    __syncthreads();
    int sum = 0;
    for (int k = 0; k < tiles; k++) {
        if (t == 0 && k + 1 < tiles)
            load(stages[(k + 1) % 2], in + (k + 1) * THREADS, &full[(k + 1) % 2]);
#ifdef BUG_WRONG_PARITY
        int parity = (k / 2 + 1) % 2;
#else
        int parity = k / 2 % 2;
#endif
        while (!ptx::mbarrier_try_wait_parity(&full[k % 2], parity)) { //~[bytes-too-few, bytes-too-many, wrong-parity] deadlock wait
        }
        sum = 3 * sum + stages[k % 2][THREADS - 1 - t]; //~[wrong-parity] async-copy-hazard#1 read
        __syncthreads();
    }
    out[blockIdx.x * THREADS + t] = sum;
}

/// The same by one thread.
__global__ void sum_tiles_reference(int *out, const int *in, int tiles, int blocks)
{
    for (int i = 0; i < blocks * THREADS; i++) {
        int sum = 0;
        for (int k = 0; k < tiles; k++)
            sum = 3 * sum + in[(i / THREADS * tiles + k) * THREADS + THREADS - 1 - i % THREADS];
        out[i] = sum;
    }
}
