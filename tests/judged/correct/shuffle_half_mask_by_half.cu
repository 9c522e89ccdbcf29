// Half of the lanes add up by shuffles whose mask names just them, and which stay among them.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:iota
// expect: clean

__global__ void sum_of_half(int *data)
{
    int t = threadIdx.x;
    int sum = data[t];
    if (t < 16) {
        for (int d = 8; d > 0; d /= 2)
            sum += __shfl_down_sync(0x0000ffff, sum, d, 16);
        data[t] = sum;
    } else {
        data[t] = -sum;
    }
}
