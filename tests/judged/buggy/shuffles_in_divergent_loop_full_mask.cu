// The same with a mask that always names all lanes, those too that have left the loop.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:uninitialized --arg 1=i32[32]:random:1..=6
// expect: warp-sync-mask

__global__ void countdown(int *out, const int *rounds)
{
    int left = rounds[threadIdx.x];
    int sum = 0;
#pragma unroll 1
    while (left > 0) {
        sum += __shfl_sync(0xffffffff, left, 0); //~ warp-sync-mask sync
        left--;
    }
    out[threadIdx.x] = sum;
}
