// The same as the programming guide has it, by volatile accesses: they are strong, so they don't race with each other.
//
// flags: --grid 4 --block 32 --arg 0=i32[1]:zeros --arg 1=i32[4]:uninitialized --arg 2=u32[1]:zeros --arg 3=i32[128]:iota
// expect: clean

__global__ void sum(int *total, volatile int *partial, unsigned *finished, const int *in)
{
    __shared__ bool last;
    int t = threadIdx.x;
    int own = __reduce_add_sync(0xffffffff, in[blockIdx.x * 32 + t]);
    if (t == 0) {
        partial[blockIdx.x] = own;
        __threadfence();
        last = atomicInc(finished, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        int all = 0;
        for (int b = 0; b < gridDim.x; b++)
            all += partial[b];
        *total = all;
        *finished = 0;
    }
}
