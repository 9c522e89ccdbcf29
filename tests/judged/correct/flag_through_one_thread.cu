// The same with the fence before the flag. One thread speaks for its block on either side: what a barrier has ordered
// before a fence, the fence publishes, and what one thread has learnt it passes on at the next barrier.
//
// flags: --grid 2 --block 64 --arg 0=i32[64]:uninitialized --arg 1=i32[64]:zeros --arg 2=i32[1]:zeros
// expect: clean

__global__ void pass(int *out, int *values, volatile int *flag)
{
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        values[t] = t + 1;
        __syncthreads();
        if (t == 0) {
            __threadfence();
            *flag = 1;
        }
    } else {
        if (t == 0) {
            while (*flag == 0) {}
            __threadfence();
        }
        __syncthreads();
        out[t] = values[63 - t];
    }
}
