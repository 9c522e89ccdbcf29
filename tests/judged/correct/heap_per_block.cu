// One thread allocates for its block, all use it behind a barrier, one frees it behind another.
//
// flags: --grid 2 --block 64 --arg 0=i32[128]:iota
// expect: clean

__global__ void reverse(int *data)
{
    __shared__ int *scratch;
    int t = threadIdx.x;
    if (t == 0)
        scratch = (int *)malloc(64 * sizeof(int));
    __syncthreads();
    if (scratch == nullptr)
        return;
    scratch[t] = data[blockIdx.x * 64 + t];
    __syncthreads();
    data[blockIdx.x * 64 + t] = scratch[63 - t];
    __syncthreads();
    if (t == 0)
        free(scratch);
}
