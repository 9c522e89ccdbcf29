// The first thread adds up what all threads of its block have announced.

#include <cuda/barrier>

extern __shared__ int values[];

__global__ void total(int *out, const int *in)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> announced;
    int t = threadIdx.x;
    if (t == 0)
        init(&announced, blockDim.x); //~[not-visible] data-race#1 write
#ifndef BUG_NOT_VISIBLE
    __syncthreads();
#endif
    values[t] = in[blockIdx.x * blockDim.x + t];
    auto token = announced.arrive(); //~[not-visible] data-race#1 atomic, uninitialized-read
    if (t == 0) {
        announced.wait(static_cast<decltype(token) &&>(token)); //~[not-visible] deadlock wait
        int sum = 0;
        for (int k = 0; k < blockDim.x; k++)
            sum += values[k];
        out[blockIdx.x] = sum;
    }
}

/// The same by one thread.
__global__ void total_reference(int *out, const int *in, int blocks, int threads)
{
    for (int b = 0; b < blocks; b++) {
        out[b] = 0;
        for (int k = 0; k < threads; k++)
            out[b] += in[b * threads + k];
    }
}
