// Inclusive prefix sum of any length by one block, a tile at a time: each warp scans its 32 elements by shuffles
// and leaves its total in shared memory, where everybody picks up the totals of the warps before his own.

/// Inclusive scan of a warp's values.
__device__ int scan_warp(int value)
{
    int lane = threadIdx.x % 32;
    for (int d = 1; d < 32; d *= 2) {
        int left = __shfl_up_sync(0xffffffff, value, d);
        if (lane >= d)
            value += left;
    }
    return value;
}

/// Whole warps only.
__global__ void scan(int *out, const int *in, int n)
{
    __shared__ int totals[32];
    int t = threadIdx.x;
    int carry = 0;

    for (int first = 0; first < n; first += blockDim.x) {
        int i = first + t;
        int sum = scan_warp(i < n ? in[i] : 0);
        if (t % 32 == 31)
            totals[t / 32] = sum; //~[no-barrier-after-totals, no-barrier-before-reuse] data-race#1 write
#ifndef BUG_NO_BARRIER_AFTER_TOTALS
        __syncthreads();
#endif
        sum += carry;
        for (int warp = 0; warp < blockDim.x / 32; warp++) {
            int total = totals[warp]; //~[no-barrier-after-totals, no-barrier-before-reuse] data-race#1 read //~[no-barrier-after-totals] uninitialized-read
            if (warp < t / 32)
                sum += total;
            carry += total;
        }
        if (i < n)
            out[i] = sum;
#ifndef BUG_NO_BARRIER_BEFORE_REUSE
        __syncthreads();
#endif
    }
}
