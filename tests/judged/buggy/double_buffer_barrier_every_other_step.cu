// Two buffers, and a barrier at every other step only: a step writes one buffer, the next the other, and then
// everybody waits. What the second of the two reads from its left neighbour was written since.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota
// expect: data-race, uninitialized-read

__global__ void blur(int *data)
{
    __shared__ int tile[2][64];
    int t = threadIdx.x;
    tile[0][t] = data[t];
    __syncthreads();
    for (int step = 0; step < 6; step += 2) {
        tile[1][t] = tile[0][t] + tile[0][(t + 1) % 64]; //~ data-race#1 write, data-race#2 read
        tile[0][t] = tile[1][t] + tile[1][(t + 1) % 64]; //~ data-race#1 read, data-race#2 write, uninitialized-read
        __syncthreads();
    }
    data[t] = tile[0][t];
}
