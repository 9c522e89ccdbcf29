// A barrier in a loop: all threads of the block must go round equally often.

extern __shared__ int tile[];

/// Moves the values of a block three places to the left, one place a round.
__global__ void rotate(int *out, const int *in)
{
    int t = threadIdx.x;
    tile[t] = in[t];
    __syncthreads();
#ifdef BUG_OWN_TRIP_COUNT
    int rounds = t < blockDim.x / 2 ? 3 : 2;
#else
    int rounds = 3;
#endif
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        int right = tile[(t + 1) % blockDim.x];
        __syncthreads(); //~[own-trip-count] divergent-barrier#1 wait
        tile[t] = right; //~[own-trip-count] wrong-result
        __syncthreads();
    }
    out[t] = tile[t]; //~[own-trip-count] divergent-barrier#1 pass
}

/// Every thread takes one away from its own count in each round and says how many threads took part in its last one.
__global__ void count_down(int *out, const int *counts)
{
    int t = threadIdx.x;
    int left = counts[t];
    int peers = 0;
#pragma unroll 1
    for (;;) {
        int working = __syncthreads_count(left > 0); //~[left-early] divergent-barrier#2 wait
        if (left > 0)
            peers = working;
        left--;
#ifdef BUG_LEFT_EARLY
        if (left < 0)
            break; // the others are still going round
#else
        if (working == 0)
            break;
#endif
    }
    out[t] = peers; //~[left-early] divergent-barrier#2 pass
}

/// The same answers by one thread.
__global__ void count_down_reference(int *out, const int *counts, int n)
{
    for (int t = 0; t < n; t++) {
        out[t] = 0;
        for (int other = 0; other < n; other++)
            out[t] += counts[t] > 0 && counts[other] >= counts[t];
    }
}

/// Reverses each block's part of the input.
__global__ void reverse_blocks(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    int first = blockIdx.x * blockDim.x;
    int count = min(int(blockDim.x), n - first);
#ifdef BUG_EARLY_RETURN
    if (t >= count)
        return; // the barrier below counts the threads that are left: so since Volta, undefined before
    tile[t] = in[first + t];
#else
    if (t < count)
        tile[t] = in[first + t];
#endif
    __syncthreads(); //~[early-return] barrier-after-exit wait
    if (t < count)
        out[first + t] = tile[count - 1 - t];
}
