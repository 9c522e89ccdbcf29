// Keys are claimed by compare-and-swap; the counts beside them are touched by atomics only, until all have met.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:uninitialized --arg 1=i32[64]:random:1..=12
// expect: clean

__global__ void count_keys(int *out, const int *in)
{
    __shared__ int keys[16];
    __shared__ int counts[16];
    int t = threadIdx.x;
    if (t < 16) {
        keys[t] = 0;
        counts[t] = 0;
    }
    __syncthreads();
    int key = in[t];
    int slot = key * 7 % 16;
    for (;;) {
        int old = atomicCAS(&keys[slot], 0, key);
        if (old == 0 || old == key)
            break;
        slot = (slot + 1) % 16;
    }
    atomicAdd(&counts[slot], 1);
    __syncthreads();
    out[t] = keys[slot] == key ? counts[slot] : -1;
}
