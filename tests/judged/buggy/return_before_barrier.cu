// The threads beyond the end return before the barrier, which completes only because it does not
// count them: so since Volta, undefined before.
//
// flags: --grid 1 --block 64 --arg 0=i32[50]:iota --arg 1=50
// expect: barrier-after-exit

__global__ void reverse(int *data, int n)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    if (t >= n)
        return;
    tile[t] = data[t];
    __syncthreads(); //~ barrier-after-exit wait
    data[t] = tile[n - 1 - t];
}
