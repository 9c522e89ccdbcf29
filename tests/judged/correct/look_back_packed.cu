// A scan with look-back: status and value in one 64-bit word, so that no fence is needed.
//
// flags: --grid 4 --block 32 --arg 0=i32[128]:uninitialized --arg 1=u64[4]:zeros --arg 2=i32[128]:iota
// expect: clean

__device__ int warp_scan(int x)
{
    for (int d = 1; d < 32; d *= 2) {
        int y = __shfl_up_sync(0xffffffff, x, d);
        if (threadIdx.x >= d)
            x += y;
    }
    return x;
}

__global__ void scan(int *out, unsigned long long *status, const int *in)
{
    __shared__ int before;
    int t = threadIdx.x, b = blockIdx.x;
    int sum = warp_scan(in[b * 32 + t]);
    if (t == 31) {
        unsigned long long total = (unsigned)sum;
        atomicExch(&status[b], (b == 0 ? 2ull : 1ull) << 32 | total);
        unsigned sofar = 0;
        for (int p = b - 1; p >= 0; p--) {
            unsigned long long s;
            do
                s = *(volatile unsigned long long *)&status[p];
            while (s >> 32 == 0);
            sofar += (unsigned)s;
            if (s >> 32 == 2)
                break;
        }
        if (b > 0)
            atomicExch(&status[b], 2ull << 32 | (unsigned)(sofar + total));
        before = sofar;
    }
    __syncthreads();
    out[b * 32 + t] = before + sum;
}
