// One buffer where the pattern needs two: the barrier keeps the reads behind the writes, but not the next step's
// writes behind the reads.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota
// expect: data-race

__global__ void blur(int *data)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    int value = data[t];
#pragma unroll 1
    for (int step = 0; step < 6; step++) {
        tile[t] = value; //~ data-race#1 write
        __syncthreads();
        value += tile[(t + 1) % 64]; //~ data-race#1 read
    }
    data[t] = value;
}
