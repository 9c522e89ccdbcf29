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

__global__ void scan(int *out, const int *in)
{
    int t = threadIdx.x;
    int n = 2 * blockDim.x;
    tree[AT(t)] = in[t];                           //~[no-barrier-in-up-sweep] data-race#1 write
    tree[AT(t + blockDim.x)] = in[t + blockDim.x]; //~[no-barrier-in-up-sweep] data-race#2 write

    int offset = 1;
    for (int d = n / 2; d > 0;) { //~[step-stands-still] no-progress run
#ifndef BUG_NO_BARRIER_IN_UP_SWEEP
        __syncthreads(); //~[step-stands-still] no-progress run
#endif
        if (t < d) { //~[step-stands-still] no-progress run
            int left = AT(offset * (2 * t + 1) - 1);
            int right = AT(offset * (2 * t + 2) - 1);
            tree[right] += tree[left]; //~[no-barrier-in-up-sweep] data-race#1 read, data-race#2 read, data-race#3 read write, uninitialized-read //~[step-stands-still] no-progress run //~[unpadded] bank-conflict read, bank-conflict write
        }
#ifdef BUG_STEP_STANDS_STILL
        (void)(d >= 1); // a comparison where a shift was meant
#else
        offset *= 2;
        d /= 2;
#endif
    }

    if (t == 0)
        tree[AT(n - 1)] = 0; //~[no-barrier-in-down-sweep] data-race#4 write

    for (int d = 1; d < n; d *= 2) {
        offset /= 2;
#ifndef BUG_NO_BARRIER_IN_DOWN_SWEEP
        __syncthreads();
#endif
        if (t < d) {
            int left = AT(offset * (2 * t + 1) - 1);
            int right = AT(offset * (2 * t + 2) - 1);
            int sum = tree[left];      //~[no-barrier-in-down-sweep] data-race#5 read //~[unpadded] bank-conflict read
            tree[left] = tree[right];  //~[no-barrier-in-down-sweep] data-race#6 read write //~[no-barrier-before-write-back] data-race#8 write //~[unpadded] bank-conflict read, bank-conflict write
            tree[right] += sum;        //~[no-barrier-in-down-sweep] data-race#5 write //~[no-barrier-before-write-back] data-race#9 write //~[unpadded] bank-conflict read, bank-conflict write
        }
    }
#ifndef BUG_NO_BARRIER_BEFORE_WRITE_BACK
    __syncthreads();
#endif

    out[t] = tree[AT(t)];                           //~[no-barrier-before-write-back] data-race#8 read
    out[t + blockDim.x] = tree[AT(t + blockDim.x)]; //~[no-barrier-before-write-back] data-race#9 read
}
