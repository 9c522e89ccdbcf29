// The depth of a tree whose nodes all have node 0 as child: the recursion never ends.
//
// flags: --grid 1 --block 32 --arg 0=i32[4]:zeros --arg 1=i32[4]:zeros --arg 2=i32[32]:zeros
// expect: invalid-call

__device__ __noinline__ int depth(const int *left, const int *right, int at)
{
    if (at < 0)
        return 0;
    int a = depth(left, right, left[at]); //~ invalid-call stop
    int b = depth(left, right, right[at]);
    return 1 + (a > b ? a : b);
}

__global__ void depths(const int *left, const int *right, int *out)
{
    out[threadIdx.x] = depth(left, right, 0);
}
