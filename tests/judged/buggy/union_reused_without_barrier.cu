// The same without a barrier between the two lives: a sum overwrites four keys of somebody else.
//
// flags: --grid 1 --block 64 --arg 0=f32[64]:uninitialized --arg 1=u8[64]:random
// expect: data-race

__global__ void two_lives(float *out, const unsigned char *in)
{
    __shared__ union {
        unsigned char keys[256];
        float sums[64];
    } memory;
    int t = threadIdx.x;
    for (int i = 0; i < 4; i++)
        memory.keys[4 * t + i] = in[t] + i;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < 4; i++)
        sum += memory.keys[64 * i + t]; //~ data-race read
    memory.sums[t] = sum; //~ data-race write
    __syncthreads();
    out[t] = memory.sums[63 - t];
}
