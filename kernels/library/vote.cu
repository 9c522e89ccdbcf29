// Lanes of a warp that exchange values through shared memory. A vote and a shuffle bring the lanes together, too, but only
// `__syncwarp()` orders memory.

extern __shared__ int tile[];

/// Each value plus its neighbour's; its negative where no lane of the warp has a negative value.
__global__ void add_neighbour(int *out, const int *in)
{
    int t = threadIdx.x;
    int value = in[blockIdx.x * blockDim.x + t];
    tile[t] = value; //~[vote, shuffle] data-race#1 write
#ifdef BUG_SHUFFLE
    int votes = 0;
    for (int lane = 0; lane < 32; lane++)
        votes |= __shfl_sync(0xffffffff, value, lane) < 0;
#else
    int votes = __any_sync(0xffffffff, value < 0);
#endif
#if !defined(BUG_VOTE) && !defined(BUG_SHUFFLE)
    __syncwarp();
#endif
    int sum = value + tile[t ^ 1]; //~[vote, shuffle] data-race#1 read
    out[blockIdx.x * blockDim.x + t] = votes ? sum : -sum;
}

/// The same by one thread.
__global__ void add_neighbour_reference(int *out, const int *in, int n)
{
    for (int i = 0; i < n; i++) {
        int any = 0;
        for (int k = i / 32 * 32; k < i / 32 * 32 + 32; k++)
            any |= in[k] < 0;
        out[i] = any ? in[i] + in[i ^ 1] : -(in[i] + in[i ^ 1]);
    }
}
