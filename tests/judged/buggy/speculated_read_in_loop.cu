// The warp that may not look in a round is the one that changes the value in it, without a barrier between the two.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:zeros --arg 1=6
// expect: data-race

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
        int value = mine ? turn : 0; //~ data-race#1 read
        __syncwarp();
        if (t / 32 != round % 2 && t % 32 == 0)
            turn = value + round; //~ data-race#1 write
        sum += value;
        __syncthreads();
    }
    out[t] = sum;
}
