// All threads that find something raise the same flag by volatile stores; the block reads it behind the barrier.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:zeros --arg 1=i32[64]:random
// expect: clean

__global__ void any_five(int *out, const int *data)
{
    __shared__ int found;
    int t = threadIdx.x;
    if (t == 0)
        found = 0;
    __syncthreads();
    if (data[t] % 5 == 0)
        *(volatile int *)&found = 1;
    __syncthreads();
    out[t] = found;
}
