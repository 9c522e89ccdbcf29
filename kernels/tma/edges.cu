// The smallest element of each tile of a matrix. A tensor copy fills what of its box lies outside of the matrix with zeros, and these bytes count as
// those that come from it.

#include <climits>
#include <cuda/ptx>
namespace ptx = cuda::ptx;

constexpr int ROWS = 4;
constexpr int COLUMNS = 16;

/// As large as a `CUtensorMap`.
struct alignas(64) TensorMap {
    char opaque[128];
};

__global__ void smallest(int *out, const __grid_constant__ TensorMap from, int rows, int columns)
{
    __shared__ alignas(128) int tile[ROWS][COLUMNS];
    __shared__ uint64_t full;
    __shared__ int least;
    int row = threadIdx.x / COLUMNS;
    int column = threadIdx.x % COLUMNS;
    int at[2] = {COLUMNS * int(blockIdx.x), ROWS * int(blockIdx.y)};
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&full, 1);
        least = INT_MAX;
#ifdef BUG_BYTES_INSIDE
        int bytes = min(ROWS, rows - at[1]) * min(COLUMNS, columns - at[0]) * int(sizeof(int));
#else
        int bytes = sizeof tile;
#endif
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, bytes);
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &from, at, &full);
    }
    __syncthreads();
    while (!ptx::mbarrier_try_wait_parity(&full, 0)) { //~[bytes-inside] deadlock wait
    }
#ifdef BUG_FILL_COUNTED
    bool inside = true;
#else
    bool inside = at[1] + row < rows && at[0] + column < columns;
#endif
    if (inside)
        atomicMin(&least, tile[row][column]); //~[fill-counted] wrong-result
    __syncthreads();
    if (threadIdx.x == 0)
        out[blockIdx.y * gridDim.x + blockIdx.x] = least;
}

/// The same by one thread.
__global__ void smallest_reference(int *out, const int *from, int rows, int columns, int pitch)
{
    int across = (columns + COLUMNS - 1) / COLUMNS;
    int down = (rows + ROWS - 1) / ROWS;
    for (int i = 0; i < across * down; i++)
        out[i] = INT_MAX;
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++) {
            int i = y / ROWS * across + x / COLUMNS;
            out[i] = min(out[i], from[y * pitch + x]);
        }
}
