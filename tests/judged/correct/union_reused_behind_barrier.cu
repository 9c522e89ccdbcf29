// The same shared memory holds keys first and sums later, of another type; barriers keep the two lives apart.
//
// flags: --grid 1 --block 64 --arg 0=f32[64]:uninitialized --arg 1=u8[64]:random
// expect: clean

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
        sum += memory.keys[64 * i + t];
    __syncthreads();
    memory.sums[t] = sum;
    __syncthreads();
    out[t] = memory.sums[63 - t];
}
