// The last block adds up what the others have left. `volatile` makes each access a real one and orders nothing: without a fence between sum
// and ticket, the last block may read a sum from before the write, although it has the last ticket.
//
// flags: --grid 4 --block 64 --arg 0=f32[4]:random --arg 1=f32[4]:zeros --arg 2=f32[1]:zeros --arg 3=u32[1]:zeros
// expect: unordered-communication

__global__ void total(const float *in, volatile float *part, float *out, unsigned *ticket)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        part[blockIdx.x] = in[blockIdx.x] + 1; //~ unordered-communication write
        last = atomicAdd(ticket, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0;
        for (unsigned b = 0; b < gridDim.x; b++)
            sum += part[b]; //~ unordered-communication read
        *out = sum;
    }
}
