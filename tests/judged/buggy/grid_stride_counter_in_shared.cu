// A queue in shared memory: the next index is fetched by one thread and read by all, and the barrier behind the reading is missing.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:zeros --arg 1=i32[1]:zeros
// expect: data-race

__global__ void drain(int *out, int *next)
{
    __shared__ int item;
    int t = threadIdx.x;
#pragma unroll 1
    for (int round = 0; round < 4; round++) {
        if (t == 0)
            item = atomicAdd(next, 1); //~ data-race write
        __syncthreads();
        out[t] += item; //~ data-race read
    }
}
