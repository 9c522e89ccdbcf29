// A warp adds up a tile by recursion: each call works on a half, the calls' locals live on a stack, and the warp
// barriers stand where all lanes of the warp come.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota
// expect: clean

__device__ __noinline__ int sum(const int *tile, int count)
{
    int halves[2];
    if (count == 1)
        return tile[0];
    halves[0] = sum(tile, count / 2);
    halves[1] = sum(tile + count / 2, count - count / 2);
    return halves[0] + halves[1];
}

__global__ void prefix(int *data)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = data[t];
    __syncthreads();
    data[t] = sum(tile, t + 1);
}
