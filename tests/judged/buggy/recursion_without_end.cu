// The sum over a list whose last element points back to the first: the recursion never ends.
//
// flags: --grid 1 --block 32 --arg 0=i32[4]:zeros --arg 1=i32[32]:zeros
// expect: invalid-call

__device__ __noinline__ int sum(const int *next, int at)
{
    if (at < 0)
        return 0;
    return at + sum(next, next[at]); //~ invalid-call stop
}

__global__ void total(const int *next, int *out)
{
    out[threadIdx.x] = sum(next, 0);
}
