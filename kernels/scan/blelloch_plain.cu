// Exclusive prefix sum after Blelloch without padding: one block, a power of two of elements, two for each thread. The barrier of
// each level stands before its work.
//
// The number d of additions is halved from level to level on the way up and doubled on the way down. `d >= 1` and `d <= 1`
// look like the shifts that do this, and are comparisons that change nothing.

#ifdef BUG_UP_STEP_STANDS_STILL
#define HALVE(d) ((d) >= 1)
#else
#define HALVE(d) ((d) >>= 1)
#endif

#ifdef BUG_DOWN_STEP_STANDS_STILL
#define DOUBLE(d) ((d) <= 1)
#else
#define DOUBLE(d) ((d) <<= 1)
#endif

extern __shared__ int tree[];

/// What a level does at its two words. In the up-sweep the right one gets the sum; in the down-sweep the left one gets what is
/// before the parent, and the right one that and the left one's sum.
__device__ void up(int left, int right)
{
    tree[right] += tree[left]; //~[up-step-stands-still] no-progress run
}

__device__ void down(int left, int right)
{
    int sum = tree[left] + tree[right]; //~[down-step-stands-still] out-of-bounds read, no-progress run
    tree[left] = tree[right];           //~[down-step-stands-still] out-of-bounds write, no-progress run
    tree[right] = sum;                  //~[down-step-stands-still] out-of-bounds write, no-progress run
}

__global__ void scan(int *out, const int *in)
{
    int t = threadIdx.x;
    int n = 2 * blockDim.x;
    tree[t] = in[t];
    tree[t + blockDim.x] = in[t + blockDim.x];

    int offset = 1;
    for (int d = n / 2; d > 0; HALVE(d)) { //~[up-step-stands-still] no-progress run
        __syncthreads();                   //~[up-step-stands-still] no-progress run
        if (t < d)                         //~[up-step-stands-still] no-progress run
            up(offset * (2 * t + 1) - 1, offset * (2 * t + 2) - 1);
#ifndef BUG_UP_STEP_STANDS_STILL
        offset *= 2;
#endif
    }

    if (t == 0)
        tree[n - 1] = 0;

    for (int d = 1; d < n; DOUBLE(d)) { //~[down-step-stands-still] no-progress run
        offset /= 2;                    //~[down-step-stands-still] no-progress run
        __syncthreads();                //~[down-step-stands-still] no-progress run
        if (t < d)                      //~[down-step-stands-still] no-progress run
            down(offset * (2 * t + 1) - 1, offset * (2 * t + 2) - 1); //~[down-step-stands-still] no-progress run
    }
    __syncthreads();

    out[2 * t] = tree[2 * t];
    out[2 * t + 1] = tree[2 * t + 1];
}
