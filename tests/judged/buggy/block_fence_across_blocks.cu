// The fences reach the own block only, but the flag goes to another one.
//
// flags: --grid 2 --block 32 --arg 0=i32[32]:uninitialized --arg 1=i32[32]:zeros --arg 2=i32[1]:zeros
// expect: insufficient-scope

__global__ void pass(int *out, int *values, volatile int *flag)
{
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        values[t] = t + 1; //~ insufficient-scope#1 write
        __syncthreads();
        if (t == 0) {
            __threadfence_block();
            *flag = 1;
        }
    } else {
        if (t == 0) {
            while (*flag == 0) {}
            __threadfence();
        }
        __syncthreads();
        out[t] = values[t]; //~ insufficient-scope#1 read
    }
}
