// One thread resets the counter for the next round while others still read this round's count.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:zeros
// expect: data-race

__global__ void rounds(int *out)
{
    __shared__ int counter;
    int t = threadIdx.x;
    if (t == 0)
        counter = 0;
    __syncthreads();
#pragma unroll 1
    for (int round = 0; round < 3; round++) {
        if (t % (round + 1) == 0)
            atomicAdd(&counter, 1); //~ data-race#2 atomic, data-race#3 atomic
        __syncthreads();
        out[t] += counter; //~ data-race#1 read, data-race#3 read
        if (t == 0)
            counter = 0; //~ data-race#1 write, data-race#2 write
    }
}
