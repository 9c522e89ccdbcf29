// A helper that hands one thread's value to the whole block through a shared variable of its own. Whoever calls it twice overwrites
// the variable while other threads may still read it, unless the helper waits at its end, too.

/// Value of thread `from`, for every thread of the block.
__device__ int broadcast(int value, int from)
{
    __shared__ int shared_value;
    if (threadIdx.x == from)
        shared_value = value; //~[called-twice] data-race#1 write
    __syncthreads();
    int result = shared_value; //~[called-twice] data-race#1 read
#ifndef BUG_CALLED_TWICE
    __syncthreads();
#endif
    return result;
}

/// Each value relative to the block's first and last one.
__global__ void relate(int *out, const int *in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = in[i];
    int first = broadcast(value, 0);
    int last = broadcast(value, blockDim.x - 1);
    out[i] = (value - first) * (last - value);
}

/// The same by one thread.
__global__ void relate_reference(int *out, const int *in, int blocks, int threads)
{
    for (int i = 0; i < blocks * threads; i++) {
        int first = in[i / threads * threads];
        int last = in[i / threads * threads + threads - 1];
        out[i] = (in[i] - first) * (last - in[i]);
    }
}
