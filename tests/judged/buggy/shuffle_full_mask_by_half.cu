// Half of the lanes add up by shuffles whose mask names all of them.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:iota
// expect: warp-sync-mask

__global__ void sum_of_half(int *data)
{
    int t = threadIdx.x;
    int sum = data[t];
    if (t < 16) {
        for (int d = 8; d > 0; d /= 2)
            sum += __shfl_down_sync(0xffffffff, sum, d); //~ warp-sync-mask sync
        data[t] = sum;
    } else {
        data[t] = -sum;
    }
}
