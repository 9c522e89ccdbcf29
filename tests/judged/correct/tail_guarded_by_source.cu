// 48 threads: the second warp has 16 lanes, and takes only what comes from one of them.
//
// flags: --grid 1 --block 48 --arg 0=i32[48]:iota
// expect: clean

__global__ void next_but_sixteen(int *data)
{
    int t = threadIdx.x;
    int other = __shfl_down_sync(0xffffffff, data[t], 16);
    if (t + 16 < 48)
        data[t] += t % 32 < 16 ? other : 0;
}
