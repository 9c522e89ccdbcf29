// The sweeps of Blelloch's exclusive prefix sum, one level a launch, so that the bank conflicts of a level can be told from the
// other levels': the words that a level works on lie twice as far apart as those of the level below.
//
// One block, two elements for each thread; `offset` is the distance between the two words of a thread.

#ifdef BUG_UNPADDED
#define AT(i) (i)
#else
#define AT(i) ((i) + (i) / 32) // a word of padding after every 32
#endif

extern __shared__ int tree[];

__device__ void load(const int *in)
{
    int t = threadIdx.x;
    tree[AT(t)] = in[t];
    tree[AT(t + blockDim.x)] = in[t + blockDim.x];
    __syncthreads();
}

__device__ void store(int *out)
{
    int t = threadIdx.x;
    __syncthreads();
    out[t] = tree[AT(t)];
    out[t + blockDim.x] = tree[AT(t + blockDim.x)];
}

/// The words of the calling thread, and whether it has any at this level.
__device__ bool words(int offset, int &left, int &right)
{
    left = offset * (2 * threadIdx.x + 1) - 1;
    right = left + offset;
    return right < 2 * blockDim.x;
}

/// Up: the right word gets the sum.
__global__ void add_level(int *out, const int *in, int offset)
{
    int left, right;
    load(in);
    if (words(offset, left, right))
        tree[AT(right)] += tree[AT(left)]; //~[unpadded-levels] bank-conflict read, bank-conflict write
    store(out);
}

/// Down: the left word gets the right one, and the right word the sum.
__global__ void hand_down_level(int *out, const int *in, int offset)
{
    int left, right;
    load(in);
    if (words(offset, left, right)) {
        int sum = tree[AT(left)] + tree[AT(right)]; //~[unpadded-down-levels] bank-conflict read
        tree[AT(left)] = tree[AT(right)];           //~[unpadded-down-levels] bank-conflict write
        tree[AT(right)] = sum;                      //~[unpadded-down-levels] bank-conflict write
    }
    store(out);
}
