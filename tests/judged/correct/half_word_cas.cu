// Neighbouring half words are updated by loops of 16-bit compare-and-swap, each by many threads.
//
// flags: --grid 1 --block 64 --arg 0=u16[4]:zeros
// expect: clean

__global__ void maxima(unsigned short *out)
{
    __shared__ __align__(4) unsigned short most[4];
    int t = threadIdx.x;
    if (t < 4)
        most[t] = 0;
    __syncthreads();
    unsigned short value = t * 37 % 64;
    unsigned short *mine = &most[t % 4];
    unsigned short seen = atomicCAS(mine, 0, value);
    while (seen < value) {
        unsigned short assumed = seen;
        seen = atomicCAS(mine, assumed, value);
        if (seen == assumed)
            break;
    }
    __syncthreads();
    if (t < 4)
        out[t] = most[t];
}
