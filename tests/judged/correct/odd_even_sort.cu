// Odd-even transposition sort, two elements a thread, a barrier before each round.
//
// flags: --grid 1 --block 32 --arg 0=i32[64]:random:0..=99
// expect: clean

__global__ void sort(int *data)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[2 * t] = data[2 * t];
    tile[2 * t + 1] = data[2 * t + 1];
    for (int round = 0; round < 64; round++) {
        __syncthreads();
        int i = 2 * t + round % 2;
        if (i + 1 < 64 && tile[i] > tile[i + 1]) {
            int swap = tile[i];
            tile[i] = tile[i + 1];
            tile[i + 1] = swap;
        }
    }
    __syncthreads();
    data[2 * t] = tile[2 * t];
    data[2 * t + 1] = tile[2 * t + 1];
}
