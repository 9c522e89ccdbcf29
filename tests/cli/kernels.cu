// Kernels that the tests of the command line check. kernels.ptx is made of it by
// `nvcc -ptx -arch=sm_75 -lineinfo kernels.cu`, with the path in `.file` cut to the name.
#include <cassert>
#include <cstdio>

struct Window {
    int first;
    float scale;
    const int *table;
};

// Forgets to wait between writing and reading the tile.
__global__ void reverse(int *data, int n)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    if (i < n)
        tile[t] = data[i];
    if (i < n)
        data[i] = tile[blockDim.x - 1 - t];
}

// Waits.
__global__ void reverse_fixed(int *data, int n)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    if (i < n)
        tile[t] = data[i];
    __syncthreads();
    if (i < n)
        data[i] = tile[blockDim.x - 1 - t];
}

// Every thread of every block increments the same counters, many times.
__global__ void count(int *counters, int rounds)
{
#pragma unroll 1
    for (int r = 0; r < rounds; r++)
        counters[r % 2]++;
}

// Never ends.
__global__ void spin(int *flag)
{
    while (*(volatile int *)flag >= 0)
        ;
}

// Takes all kinds of arguments.
__global__ void mixed(float *out, Window window, double weight, unsigned char mark)
{
    extern __shared__ float scratch[];
    int t = threadIdx.x;
    scratch[t] = window.scale * window.table[window.first + t];
    __syncthreads();
    out[blockIdx.x * blockDim.x + t] = scratch[blockDim.x - 1 - t] * weight + mark;
}

// Needs more elements than threads.
__global__ void strided(int *data)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[1000 * i] = i;
}

// Prints, and asserts.
__global__ void greet(int limit)
{
    printf("thread %d of %d\n", threadIdx.x, limit);
    assert(threadIdx.x < limit);
}

// The first thread to take the ticket says who goes on.
__global__ void last(int *ticket, int *out)
{
    if (threadIdx.x == 0) {
        int mine = atomicAdd(ticket, 1);
        out[mine] = blockIdx.x;
    }
}

// Leaves half of the block behind.
__global__ void early(int *data)
{
    if (threadIdx.x >= blockDim.x / 2)
        return;
    __syncthreads();
    data[threadIdx.x] = 1;
}
