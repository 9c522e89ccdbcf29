// Keeps the odd values in order: the warps count theirs by ballots, one warp adds the counts up, and each lane finds
// its place by counting the bits below its own.
//
// flags: --grid 1 --block 96 --arg 0=i32[96]:uninitialized --arg 1=i32[96]:random
// expect: clean

__global__ void keep_odd(int *out, const int *in)
{
    __shared__ int first[4];
    int t = threadIdx.x;
    int lane = t % 32;
    int warp = t / 32;
    int value = in[t];
    unsigned odd = __ballot_sync(0xffffffff, value & 1);
    if (lane == 0)
        first[warp + 1] = __popc(odd);
    if (t == 0)
        first[0] = 0;
    __syncthreads();
    if (t < 4) {
        int sum = first[t];
        for (int d = 1; d < 4; d *= 2) {
            int left = __shfl_up_sync(0xf, sum, d, 4);
            if (t >= d)
                sum += left;
        }
        first[t] = sum;
    }
    __syncthreads();
    if (value & 1)
        out[first[warp] + __popc(odd & ((1u << lane) - 1))] = value;
}
