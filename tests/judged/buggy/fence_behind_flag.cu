// The writer raises the flag first and puts the fence behind it, where it orders nothing.
//
// flags: --grid 2 --block 32 --arg 0=i32[32]:uninitialized --arg 1=i32[32]:zeros --arg 2=i32[1]:zeros
// expect: data-race

__global__ void pass(int *out, int *values, volatile int *flag)
{
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        values[t] = t + 1; //~ data-race#1 write
        __syncthreads();
        if (t == 0) {
            *flag = 1;
            __threadfence();
        }
    } else {
        if (t == 0) {
            while (*flag == 0) {}
            __threadfence();
        }
        __syncthreads();
        out[t] = values[t]; //~ data-race#1 read
    }
}
