// Reverses each block's values through a buffer in shared memory that is declared `volatile`. That makes the compiler access memory each
// time; it makes no warp wait for another one.

extern __shared__ int memory[];

__global__ void reverse(int *out, const int *in)
{
    volatile int *buffer = memory;
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    buffer[t] = in[i]; //~[no-barrier, fence] unordered-communication#1 write
#if defined(BUG_FENCE)
    __threadfence_block(); // orders the thread's own accesses
#elif !defined(BUG_NO_BARRIER)
    __syncthreads();
#endif
    out[i] = buffer[blockDim.x - 1 - t]; //~[no-barrier, fence] unordered-communication#1 read, uninitialized-read
}

/// The same by one thread.
__global__ void reverse_reference(int *out, const int *in, int blocks, int threads)
{
    for (int i = 0; i < blocks * threads; i++)
        out[i] = in[i / threads * threads + threads - 1 - i % threads];
}
