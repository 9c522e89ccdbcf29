// Three buffers let a step read what was written two steps ago, with one barrier a step.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota
// expect: clean

__global__ void wave(int *data)
{
    __shared__ int tile[3][64];
    int t = threadIdx.x;
    tile[0][t] = data[t];
    tile[1][t] = data[t] + 1;
    __syncthreads();
    for (int step = 0; step < 5; step++) {
        int *older = tile[step % 3];
        int *newer = tile[(step + 1) % 3];
        tile[(step + 2) % 3][t] = newer[(t + 1) % 64] + newer[(t + 63) % 64] - older[t];
        __syncthreads();
    }
    data[t] = tile[2][63 - t];
}
