// The up-sweep of Blelloch's exclusive prefix sum, one level a launch, so that the bank conflicts of a level can be told from the
// other levels': each level adds words that lie twice as far apart as those of the level before.

#ifdef BUG_UNPADDED
#define AT(i) (i)
#else
#define AT(i) ((i) + (i) / 32) // a word of padding after every 32
#endif

extern __shared__ int tree[];

/// One block, two elements for each thread; adds those that are `offset` apart.
__global__ void add_level(int *out, const int *in, int offset)
{
    int t = threadIdx.x;
    int n = 2 * blockDim.x;
    tree[AT(t)] = in[t];
    tree[AT(t + blockDim.x)] = in[t + blockDim.x];
    __syncthreads();
    if (2 * offset * (t + 1) <= n)
        tree[AT(offset * (2 * t + 2) - 1)] += tree[AT(offset * (2 * t + 1) - 1)]; //~[unpadded-levels] bank-conflict read, bank-conflict write
    __syncthreads();
    out[t] = tree[AT(t)];
    out[t + blockDim.x] = tree[AT(t + blockDim.x)];
}
