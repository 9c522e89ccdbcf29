// The last lane of each warp publishes how many values come before its own as the number of all, so the next warp starts
// on that lane's place.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:uninitialized --arg 1=i32[64]:iota
// expect: data-race

__global__ void keep_odd(int *out, const int *in)
{
    __shared__ int counts[2];
    int t = threadIdx.x;
    int lane = t % 32;
    int value = in[t];
    unsigned odd = __ballot_sync(0xffffffff, value & 1);
    int before = __popc(odd & ((1u << lane) - 1));
    if (lane == 31)
        counts[t / 32] = before;
    __syncthreads();
    int first = t < 32 ? 0 : counts[0];
    if (value & 1)
        out[first + before] = value; //~ data-race write
}
