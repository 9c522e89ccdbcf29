// Tensor maps that the host makes: a matrix is transposed in tiles that come and go by tensor copies.
//~ nvcc -arch=sm_90a
//~ on sm_90 right: clean
//~ on sm_90 wide: clean
//~ on sm_90 early: async-copy-hazard@26,34 uninitialized-read@34
//~ on sm_90 unfenced: missing-proxy-fence@36,41
#include <cstdio>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void transpose(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out, bool early, bool unfenced)
{
    __shared__ alignas(128) float tile[16 * 16], turned[16 * 16];
    __shared__ uint64_t full;
    int t = threadIdx.x;
    int from[2] = {16 * (int)blockIdx.x, 16 * (int)blockIdx.y}, to[2] = {from[1], from[0]};
    if (t == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    if (t == 0) {
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &in, from, &full);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof tile);
    }
    if (!early)
        while (!ptx::mbarrier_try_wait_parity(&full, 0)) {
        }
    float values[2];
    for (int k = 0; k < 2; k++)
        values[k] = tile[t + 128 * k];
    for (int k = 0; k < 2; k++)
        turned[(t + 128 * k) % 16 * 16 + (t + 128 * k) / 16] = values[k];
    if (!unfenced)
        ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (t == 0) {
        ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &out, to, turned);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

static CUtensorMap map(float *at, int rows, int columns, int pitch)
{
    void *found = nullptr;
    cudaDriverEntryPointQueryResult result;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result);
    CUtensorMap map;
    cuuint64_t size[] = {(cuuint64_t)columns, (cuuint64_t)rows}, stride[] = {pitch * sizeof(float)};
    cuuint32_t box[] = {16, 16}, step[] = {1, 1};
    CUresult made = ((decltype(&cuTensorMapEncodeTiled))found)(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, at, size, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
        CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    // What the driver refuses, and what lies elsewhere with the same box.
    box[1] = 257;
    CUtensorMap none;
    CUresult refused = ((decltype(&cuTensorMapEncodeTiled))found)(&none, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, at, size, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
        CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (made != CUDA_SUCCESS || refused != CUDA_ERROR_INVALID_VALUE)
        printf("%d %d\n", made, refused);
    return map;
}

int main(int argc, char **argv)
{
    auto is = [&](const char *what) { return argc > 1 && !strcmp(argv[1], what); };
    // The last tiles lie partly outside.
    const int rows = is("wide") ? 24 : 40, columns = is("wide") ? 52 : 36;
    float *in, *out, host[52 * 52], back[52 * 52];
    cudaMalloc(&in, sizeof host);
    cudaMalloc(&out, sizeof host);
    for (int k = 0; k < 52 * 52; k++)
        host[k] = k;
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
    cudaMemset(out, 0, sizeof host);
    dim3 grid((columns + 15) / 16, (rows + 15) / 16);
    transpose<<<grid, 128>>>(map(in, rows, columns, 52), map(out, columns, rows, 52), is("early"), is("unfenced"));
    cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost);
    cudaFree(in);
    cudaFree(out);
    int wrong = 0;
    for (int y = 0; y < 52; y++)
        for (int x = 0; x < 52; x++)
            wrong += back[52 * y + x] != (y < columns && x < rows ? host[52 * x + y] : 0);
    if (!is("early") && wrong)
        printf("%d numbers are wrong\n", wrong);
    return !is("early") && wrong;
}
