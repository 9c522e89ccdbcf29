// Exclusive prefix sum after Blelloch, in shared memory: one block, a power of two of elements, two for each thread.
//
// The up-sweep builds a tree of sums in place; the down-sweep hands each node the sum of all that is left of it.
// Elements used together lie a power of two apart, which is the worst for the 32 banks: a word of padding
// after every 32 keeps them in different banks.

#ifdef BUG_UNPADDED
#define AT(i) (i)
#else
#define AT(i) ((i) + (i) / 32)
#endif

extern __shared__ int tree[];

/// The left child takes over what is left of its parent, the right child has the left child's own sum before it
/// too. A parent lies where its right child lies.
__device__ void hand_down(int &left, int &right)
{
    int sum = left + right; left = right; right = sum; //~[no-barrier-in-down-sweep] data-race#1 read, data-race#2 write, data-race#3 read write, data-race#4 write //~[no-barrier-before-write-back] data-race#5 write, data-race#6 write //~[unpadded] bank-conflict read, bank-conflict write
}

__global__ void scan(int *out, const int *in)
{
    int t = threadIdx.x;
    int n = 2 * blockDim.x;
    tree[AT(t)] = in[t];
    tree[AT(t + blockDim.x)] = in[t + blockDim.x];
    __syncthreads();

    int offset = 1;
    for (int d = n / 2; d > 0;) { //~[step-stands-still] no-progress run
        if (t < d) {              //~[step-stands-still] no-progress run
            int left = AT(offset * (2 * t + 1) - 1);
            int right = AT(offset * (2 * t + 2) - 1);
            tree[right] += tree[left]; //~[no-barrier-in-up-sweep] data-race#1 read write, data-race#2 write, data-race#3 read, data-race#4 write //~[step-stands-still] no-progress run //~[unpadded] bank-conflict read, bank-conflict write
        }
#ifdef BUG_STEP_STANDS_STILL
        (void)(d >= 1); // a comparison where a shift was meant
#else
        offset *= 2;
        d /= 2;
#endif
#ifndef BUG_NO_BARRIER_IN_UP_SWEEP
        __syncthreads(); //~[step-stands-still] no-progress run
#endif
    }

    if (t == 0)
        tree[AT(n - 1)] = 0; //~[no-barrier-in-up-sweep] data-race#3 write, data-race#4 write //~[no-barrier-in-down-sweep] data-race#1 write, data-race#2 write

    for (int d = 1; d < n; d *= 2) {
        offset /= 2;
#ifndef BUG_NO_BARRIER_IN_DOWN_SWEEP
        __syncthreads();
#endif
        if (t < d)
            hand_down(tree[AT(offset * (2 * t + 1) - 1)], tree[AT(offset * (2 * t + 2) - 1)]);
    }
#ifndef BUG_NO_BARRIER_BEFORE_WRITE_BACK
    __syncthreads();
#endif

    out[t] = tree[AT(t)];                           //~[no-barrier-before-write-back] data-race#5 read
    out[t + blockDim.x] = tree[AT(t + blockDim.x)]; //~[no-barrier-before-write-back] data-race#6 read
}
