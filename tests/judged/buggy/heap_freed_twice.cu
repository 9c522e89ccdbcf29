// Every thread of the block frees what thread 0 has allocated.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:zeros
// expect: use-after-free

__global__ void scratch(int *out)
{
    __shared__ int *memory;
    int t = threadIdx.x;
    if (t == 0)
        memory = (int *)malloc(64 * sizeof(int));
    __syncthreads();
    int *mine = memory;
    if (mine == nullptr)
        return;
    mine[t] = t;
    __syncthreads();
    out[t] = mine[63 - t];
    __syncthreads();
    if (t % 32 == 0)
        free(mine); //~ use-after-free free
}
