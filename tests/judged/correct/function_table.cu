// A table of operations that all are set, called by index.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota
// expect: clean

typedef int (*Operation)(int);

__device__ __noinline__ int twice(int x)
{
    return x + x;
}

__device__ __noinline__ int square(int x)
{
    return x * x;
}

__device__ Operation operations[2] = {twice, square};

__global__ void apply(int *data)
{
    int t = threadIdx.x;
    data[t] = operations[t & 1](data[t]);
}
