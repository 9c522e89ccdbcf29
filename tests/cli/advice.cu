// Kernels with one bug each, and the advice that mends it: see advice.rs. The PTX beside it is from
// nvcc -ptx -arch=sm_75 -lineinfo advice.cu
// with paths cut to the name, and of the toolkit to what lies below its folder.

#include <cub/block/block_reduce.cuh>

__global__ void update_max(int *a, const int *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[0] = max(a[0], x[i]);
}

__global__ void update_in_lines(unsigned *a, const unsigned *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned t = a[0];
    t -= x[i];
    a[0] = t;
}

__global__ void update_if_greater(int *a, const int *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] > a[0])
        a[0] = x[i];
}

__global__ void update_product(float *a, const float *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[0] *= x[i];
}

__global__ void claim(int *owner)
{
    if (owner[0] == 0)
        owner[0] = 1 + threadIdx.x;
}

__global__ void narrow_atomic(int *a, const int *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicMax_block(&a[0], x[i]);
}

__global__ void narrow_fence(int *parts, unsigned *count, int *out)
{
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = blockIdx.x;
        __threadfence_block();
        is_last = atomicAdd(count, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last && threadIdx.x == 0) {
        __threadfence();
        int sum = 0;
        for (int i = 0; i < gridDim.x; i++)
            sum += parts[i];
        out[0] = sum;
    }
}

__global__ void branch_of_a_warp(int *out, const int *in)
{
    __shared__ int s[256];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
    if (t < 32) {
        s[t] += s[t + 32];
        out[t] = s[t ^ 1];
    }
}

__global__ void reused_storage(int *out, const int *in)
{
    typedef cub::BlockReduce<int, 128> Reduce;
    __shared__ typename Reduce::TempStorage temp;
    int v = in[threadIdx.x];
    int a = Reduce(temp).Sum(v);
    int b = Reduce(temp).Reduce(v, [](int p, int q) { return max(p, q); });
    if (threadIdx.x == 0) {
        out[0] = a;
        out[1] = b;
    }
}

__global__ void no_fence_after_poll(int *data, volatile int *flag, int *out)
{
    if (blockIdx.x == 0) {
        if (threadIdx.x == 0) {
            data[0] = 42;
            __threadfence();
            *flag = 1;
        }
    } else if (threadIdx.x == 0) {
        while (*flag == 0)
            ;
        out[blockIdx.x] = data[0];
    }
}

__global__ void unrolled(int *out, const int *in)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    int sum = 0;
#pragma unroll
    for (int i = 0; i < 8; i++)
        sum += s[(t + i) % 64];
    out[t] = sum;
}

__global__ void rarely(int *out, int limit)
{
    int t = threadIdx.x;
    if (limit < 0) {
        atomicAdd(&out[t], limit);
        return;
    }
    out[t] = t;
}
