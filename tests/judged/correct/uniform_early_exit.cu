// The block goes round until nobody has work left, and leaves the loop together by a vote at the barrier.
//
// flags: --grid 1 --block 96 --arg 0=i32[96]:random:0..=20
// expect: clean

__global__ void relax(int *data)
{
    __shared__ int tile[96];
    int t = threadIdx.x;
    tile[t] = data[t];
    __syncthreads();
    for (;;) {
        int left = t > 0 ? tile[t - 1] : 0;
        bool changes = left > tile[t];
        if (!__syncthreads_or(changes))
            break;
        if (changes)
            tile[t] = left;
        __syncthreads();
    }
    data[t] = tile[t];
}
