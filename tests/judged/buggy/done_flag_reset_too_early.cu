// The same with a flag in shared memory instead of the vote: one thread clears it for the next round while others
// may not have read it.
//
// flags: --grid 1 --block 96 --arg 0=i32[96]:random:0..=20
// expect: data-race, divergent-barrier

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
        __syncthreads(); //~ divergent-barrier#4 wait
        int left = t > 0 ? tile[t - 1] : 0; //~ data-race#3 read
        bool changes = left > tile[t];
        if (changes)
            atomicExch(&changed, 1); //~ data-race#2 atomic
        __syncthreads();
        if (changes)
            tile[t] = left; //~ data-race#3 write
        if (!changed) //~ data-race#1 read, data-race#2 read, divergent-barrier#4 pass
            break;
    }
    data[t] = tile[t]; //~ divergent-barrier#4 pass
}
