// Blocks turn the tiles of a matrix upside down: a tensor copy brings a tile, the threads write it into another one, and a second tensor copy takes
// that away. The last tiles lie partly outside of the matrix.

#include <cuda/ptx>
namespace ptx = cuda::ptx;

constexpr int ROWS = 8;
constexpr int COLUMNS = 16;
constexpr int BYTES = ROWS * COLUMNS * sizeof(int);

/// As large as a `CUtensorMap`.
struct alignas(64) TensorMap {
    char opaque[128];
};

/// Block x works on the tiles of a column of tiles, from top to bottom.
__global__ void turn(const __grid_constant__ TensorMap to, const __grid_constant__ TensorMap from, int tiles)
{
    __shared__ alignas(128) int tile[ROWS][COLUMNS];
    __shared__ alignas(128) int turned[ROWS][COLUMNS];
    __shared__ uint64_t full;
    int row = threadIdx.x / COLUMNS;
    int column = threadIdx.x % COLUMNS;
    if (threadIdx.x == 0)
        ptx::mbarrier_init(&full, 1);
    __syncthreads();
    for (int k = 0; k < tiles; k++) {
        int at[2] = {COLUMNS * int(blockIdx.x), ROWS * k};
        if (threadIdx.x == 0) {
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, BYTES);
            ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &from, at, &full);
        }
        while (!ptx::mbarrier_try_wait_parity(&full, k % 2)) {
        }
        turned[ROWS - 1 - row][column] = tile[row][column]; //~[source-reused] async-copy-hazard#1 write, wrong-result //~[no-proxy-fence] missing-proxy-fence#1 write
#ifndef BUG_NO_PROXY_FENCE
        ptx::fence_proxy_async(ptx::space_shared);
#endif
        __syncthreads();
        if (threadIdx.x == 0) {
            ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &to, at, turned); //~[source-reused] async-copy-hazard#1 copy //~[no-proxy-fence] missing-proxy-fence#1 copy
            ptx::cp_async_bulk_commit_group();
#ifndef BUG_SOURCE_REUSED
            ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
#endif
        }
        // The others go on when the next tile has come, which is fetched behind the wait.
    }
#ifdef BUG_SOURCE_REUSED
    if (threadIdx.x == 0)
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
#endif
}

/// The same by one thread.
__global__ void turn_reference(int *to, const int *from, int rows, int columns, int pitch)
{
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++) {
            int other = y / ROWS * ROWS + ROWS - 1 - y % ROWS;
            to[y * pitch + x] = other < rows ? from[other * pitch + x] : 0;
        }
}
