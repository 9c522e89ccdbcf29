// The same with a flag in shared memory instead of the vote: one thread clears it for the next round while others
// may not have read it.
//
// flags: --grid 1 --block 96 --arg 0=i32[96]:random:0..=20
// expect: data-race

__global__ void relax(int *data)
{
    __shared__ int tile[96];
    __shared__ int changed;
    int t = threadIdx.x;
    tile[t] = data[t];
#pragma unroll 1
    for (int round = 0; round < 96; round++) {
        if (t == 0)
            changed = 0; //~ data-race#1 write
        __syncthreads();
        int left = t > 0 ? tile[t - 1] : 0;
        bool changes = left > tile[t];
        if (changes)
            atomicExch(&changed, 1);
        __syncthreads();
        if (changes)
            tile[t] = left;
        if (!changed) //~ data-race#1 read
            break;
    }
    data[t] = tile[t];
}
