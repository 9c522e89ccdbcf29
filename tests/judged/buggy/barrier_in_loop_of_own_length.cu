// Each warp goes round as often as its own data says, and the barrier is inside.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:zeros --arg 1=i32[2]:iota
// expect: divergent-barrier

__global__ void rounds(int *data, const int *lengths)
{
    int t = threadIdx.x;
    int length = 2 + lengths[t / 32];
#pragma unroll 1
    for (int i = 0; i < length; i++) {
        data[t] += i;
        __syncthreads(); //~ divergent-barrier wait
    }
    __syncthreads(); //~ divergent-barrier wait
    data[t] *= 2;
}
