// A warp hands values to another warp of its block: a block's fence and a flag that is read in a loop will do.
//
// flags: --grid 2 --block 64 --arg 0=i32[64]:uninitialized
// expect: clean

__global__ void pass(int *out)
{
    __shared__ int values[32];
    __shared__ volatile int flag;
    int t = threadIdx.x;
    if (t == 0)
        flag = 0;
    __syncthreads();
    if (t < 32) {
        values[t] = t * t;
        __syncwarp();
        if (t == 0) {
            __threadfence_block();
            flag = 1;
        }
    } else {
        while (flag == 0) {}
        __threadfence_block();
        out[blockIdx.x * 32 + t - 32] = values[63 - t];
    }
}
