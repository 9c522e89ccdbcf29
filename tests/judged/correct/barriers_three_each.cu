// Half of the block has work for two rounds, the other half for three; all go through the barrier three times.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota
// expect: clean

__global__ void rounds(int *data)
{
    int t = threadIdx.x;
    int rounds = t < 32 ? 2 : 3;
#pragma unroll 1
    for (int i = 0; i < 3; i++) {
        if (i < rounds)
            data[t] += i;
        __syncthreads();
    }
    data[t] *= 2;
}
