// Two teams of two warps work at their own pace, each at a named barrier of its own.
//
// flags: --grid 1 --block 128 --arg 0=i32[128]:iota
// expect: clean

__global__ void rotate(int *data)
{
    __shared__ int tile[128];
    int t = threadIdx.x;
    int team = t / 64;
    int right = team * 64 + (t + 1) % 64;
    int value = data[t];
    for (int round = 0; round < 3 + 2 * team; round++) {
        tile[t] = value;
        asm volatile("bar.sync %0, 64;" ::"r"(team + 1) : "memory");
        value = tile[right];
        asm volatile("bar.sync %0, 64;" ::"r"(team + 1) : "memory");
    }
    data[t] = value;
}
