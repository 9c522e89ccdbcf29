// Neighbouring lanes call different functions through a table of pointers: each lane has the arguments and the result of
// its own call.
//
// flags: --grid 2 --block 64 --arg 0=i32[128]:uninitialized
// expect: clean

typedef int (*step)(int *, int);

__device__ int even(int *out, int i)
{
    out[i] = 10;
    return i;
}

__device__ int odd(int *out, int i)
{
    out[i] = 20;
    return -i;
}

__device__ step steps[2] = {even, odd};

__global__ void by_lane(int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int result = steps[threadIdx.x & 1](out, i);
    out[i] += result;
}
