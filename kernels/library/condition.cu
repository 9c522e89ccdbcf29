// A loop whose condition is in shared memory: thread 0 decides whether there is another round. All threads must have tested the condition
// before it writes it again, and none may test it before it has.

/// Halves the block's values as often as the block is told.
__global__ void halve(int *data, const int *rounds)
{
    __shared__ int left;
    int t = threadIdx.x;
    int value = data[blockIdx.x * blockDim.x + t];
    if (t == 0)
        left = rounds[blockIdx.x];
    __syncthreads();
    while (left > 0) {
        value /= 2;
        __syncthreads(); // the compiler tests for the next round here //~[rewritten] data-race#1 read, divergent-barrier#2 wait
        if (t == 0)
            left--; //~[rewritten] data-race#1 write
#ifndef BUG_REWRITTEN
        __syncthreads();
#endif
    }
    data[blockIdx.x * blockDim.x + t] = value;
}

/// The same by one thread.
__global__ void halve_reference(int *data, const int *rounds, int blocks, int threads)
{
    for (int i = 0; i < blocks * threads; i++)
        for (int round = 0; round < rounds[i / threads]; round++)
            data[i] /= 2;
}
