// The block that finishes last adds up what all blocks have left behind. Each block publishes its partial sum by a
// fence before the counter; the last one needs a fence behind it.
//
// flags: --grid 4 --block 32 --arg 0=i32[1]:zeros --arg 1=i32[4]:uninitialized --arg 2=u32[1]:zeros --arg 3=i32[128]:iota
// expect: clean

__global__ void sum(int *total, int *partial, unsigned *finished, const int *in)
{
    __shared__ bool last;
    int t = threadIdx.x;
    int own = __reduce_add_sync(0xffffffff, in[blockIdx.x * 32 + t]);
    if (t == 0) {
        partial[blockIdx.x] = own;
        __threadfence();
        last = atomicInc(finished, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last && t < gridDim.x) {
        int all = partial[t];
        all += __shfl_down_sync(0xf, all, 2);
        all += __shfl_down_sync(0xf, all, 1);
        if (t == 0)
            *total = all;
    }
}
