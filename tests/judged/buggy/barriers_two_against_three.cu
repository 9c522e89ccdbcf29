// Half of the block goes through the loop's barrier twice, the other half three times.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota
// expect: divergent-barrier

__global__ void rounds(int *data)
{
    int t = threadIdx.x;
    int rounds = t < 32 ? 2 : 3;
#pragma unroll 1
    for (int i = 0; i < rounds; i++) {
        data[t] += i;
        __syncthreads(); //~ divergent-barrier#1 wait
    }
    data[t] *= 2; //~ divergent-barrier#1 pass
}
