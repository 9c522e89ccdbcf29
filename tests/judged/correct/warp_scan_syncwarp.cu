// A warp's scan in shared memory with a warp barrier behind each read and each write.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:iota
// expect: clean

__global__ void scan(int *data)
{
    __shared__ int sums[32];
    int t = threadIdx.x;
    int sum = data[t];
    sums[t] = sum;
    __syncwarp();
    for (int d = 1; d < 32; d *= 2) {
        if (t >= d)
            sum += sums[t - d];
        __syncwarp();
        sums[t] = sum;
        __syncwarp();
    }
    data[t] = sum;
}
