// The same squeezed into two buffers: a step overwrites the older values in place, which is right for the thread's own,
// and wrong for a neighbour's.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota
// expect: data-race

__global__ void wave(int *data)
{
    __shared__ int tile[2][64];
    int t = threadIdx.x;
    tile[0][t] = data[t];
    tile[1][t] = data[t] + 1;
    __syncthreads();
#pragma unroll 1
    for (int step = 0; step < 5; step++) {
        int *older = tile[step % 2];
        int *newer = tile[(step + 1) % 2];
        older[t] = newer[t] - older[(t + 1) % 64]; //~ data-race read write
        __syncthreads();
    }
    data[t] = tile[1][63 - t];
}
