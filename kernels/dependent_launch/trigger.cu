// The second kernel does not wait. That is right as long as the first one has no trigger, for then the second one begins when the first one has ended.

/// `out[b]` is the largest element of a block, and `out[b + blocks]` how often it is there.
__global__ void largest(int *out, const int *in)
{
    extern __shared__ int values[];
    int t = threadIdx.x;
    values[t] = in[blockIdx.x * blockDim.x + t];
    __syncthreads();
    if (t > 0)
        return;
    int most = values[0];
    for (int k = 1; k < blockDim.x; k++)
        most = max(most, values[k]);
    out[blockIdx.x] = most; //~[early-trigger] missing-dependency-wait#1 write, missing-dependency-wait#3 write
#if defined(BUG_EARLY) && __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion(); // as if that were for what is written before it, and nothing came after it
#endif
    int count = 0;
    for (int k = 0; k < blockDim.x; k++)
        count += values[k] == most;
    out[gridDim.x + blockIdx.x] = count; //~[early-trigger] missing-dependency-wait#2 write
}

/// The largest of all.
__global__ void combine(int *result, const int *out, int blocks)
{
    int most = out[0], count = 0; //~[early-trigger] missing-dependency-wait#1 read
    for (int b = 1; b < blocks; b++)
        most = max(most, out[b]); //~[early-trigger] missing-dependency-wait#3 read
    for (int b = 0; b < blocks; b++)
        count += out[b] == most ? out[blocks + b] : 0; //~[early-trigger] missing-dependency-wait#2 read, wrong-result
    result[0] = most;
    result[1] = count;
}

/// The same by one thread.
__global__ void combine_reference(int *result, const int *in, int n)
{
    result[0] = in[0];
    result[1] = 0;
    for (int i = 0; i < n; i++)
        result[0] = max(result[0], in[i]);
    for (int i = 0; i < n; i++)
        result[1] += in[i] == result[0];
}
