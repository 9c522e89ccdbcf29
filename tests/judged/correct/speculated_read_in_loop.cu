// A warp a round may look at what its own lane 0 changes in that round; the other warp's value is dropped.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:zeros --arg 1=6
// expect: clean

__global__ void take_turns(int *out, int rounds)
{
    __shared__ int turn;
    int t = threadIdx.x, sum = 0;
    if (t == 0)
        turn = 1;
    __syncthreads();
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        bool mine = t / 32 == round % 2;
        int value = mine ? turn : 0;
        __syncwarp();
        if (mine && t % 32 == 0)
            turn = value + round;
        sum += value;
        __syncthreads();
    }
    out[t] = sum;
}
