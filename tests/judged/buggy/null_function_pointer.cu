// A table of operations of which the host has set one: the threads that take the other one call through a null pointer.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota
// expect: invalid-call

typedef int (*Operation)(int);

__device__ __noinline__ int twice(int x)
{
    return x + x;
}

__device__ Operation operations[2] = {twice, nullptr};

__global__ void apply(int *data)
{
    int t = threadIdx.x;
    data[t] = operations[t & 1](data[t]); //~ invalid-call stop
}
