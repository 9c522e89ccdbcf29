// A warp's tree of additions in shared memory: a warp barrier separates the steps, but none stands between reading
// the partner's value and the partner's next step.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:iota
// expect: data-race

__global__ void sum(int *data)
{
    __shared__ int tile[32];
    int lane = threadIdx.x;
    int sum = data[lane];
#pragma unroll 1
    for (int d = 16; d > 0; d /= 2) {
        tile[lane] = sum; //~ data-race#1 write
        __syncwarp();
        sum += tile[lane ^ d]; //~ data-race#1 read
    }
    data[lane] = sum;
}
