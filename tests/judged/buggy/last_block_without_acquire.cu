// The same with the fence before the counter alone: nothing keeps the last block's reads behind its own counting.
// (The barrier in between orders the block's threads, not other blocks' writes.)
//
// flags: --grid 4 --block 32 --arg 0=i32[1]:zeros --arg 1=i32[4]:uninitialized --arg 2=u32[1]:zeros --arg 3=i32[128]:iota
// expect: data-race

__global__ void sum(int *total, int *partial, unsigned *finished, const int *in)
{
    __shared__ bool last;
    int t = threadIdx.x;
    int own = __reduce_add_sync(0xffffffff, in[blockIdx.x * 32 + t]);
    if (t == 0) {
        partial[blockIdx.x] = own; //~ data-race#1 write
        __threadfence();
        last = atomicInc(finished, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        int all = 0;
        for (int b = 0; b < gridDim.x; b++)
            all += partial[b]; //~ data-race#1 read
        *total = all;
    }
}
