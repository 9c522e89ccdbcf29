// Kernels that do different things, and kernels that do more of one thing.

#define KERNEL extern "C" __global__ void

KERNEL saxpy(float a, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
KERNEL histogram(const int *keys, int *bins, int n)
{
    __shared__ int own[64];
    if (threadIdx.x < 64)
        own[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll 1
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[keys[i] & 63], 1);
    __syncthreads();
    if (threadIdx.x < 64)
        atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
KERNEL gather(const float *x, const int *at, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[at[i]] + x[at[i] + 1] + x[at[i] + 2] + x[at[i] + 3];
}
KERNEL tickets(int *next, int *owner, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int mine = atomicAdd(next, 1);
        owner[mine] = atomicExch(&owner[mine + n], i);
        atomicMax(&next[1], mine);
    }
}
KERNEL transpose(const float *in, float *out, int n)
{
    __shared__ float tile[16][17];
    int x = threadIdx.x, y = threadIdx.y;
    tile[y][x] = in[(blockIdx.y * 16 + y) * n + blockIdx.x * 16 + x];
    __syncthreads();
    out[(blockIdx.x * 16 + y) * n + blockIdx.y * 16 + x] = tile[x][y];
}
KERNEL reduce(const int *in, int *out)
{
    __shared__ int tile[256];
    int t = threadIdx.x;
    tile[t] = in[blockIdx.x * 256 + t];
#pragma unroll 1
    for (int d = 128; d > 0; d /= 2) {
        __syncthreads();
        if (t < d)
            tile[t] += tile[t + d];
    }
    if (t == 0)
        out[blockIdx.x] = tile[0];
}

// A radix sort's ranking of 8 and of 16 keys a thread.
template <int ITEMS> __device__ __forceinline__ void rank_items(const unsigned *keys, unsigned *ranks, int bit)
{
    __shared__ unsigned counts[16 * 128];
    int t = threadIdx.x;
    unsigned own[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; i++)
        own[i] = keys[t + 128 * i];
#pragma unroll
    for (int i = 0; i < ITEMS; i++)
        counts[((own[i] >> bit) & 15) * 128 + t]++;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ITEMS; i++)
        ranks[t + 128 * i] = counts[((own[i] >> bit) & 15) * 128 + (t ^ 1)] ^ own[i];
}
KERNEL items_8(const unsigned *keys, unsigned *ranks, int bit) { rank_items<8>(keys, ranks, bit); }
KERNEL items_16(const unsigned *keys, unsigned *ranks, int bit) { rank_items<16>(keys, ranks, bit); }

// A kernel and one that does more after it.
KERNEL scaled(const float *in, float *out)
{
    int t = threadIdx.x;
    out[t] = in[t] * 2.0f;
}
KERNEL scaled_and_summed(const float *in, float *out, float *sums, int *count, const float *bias)
{
    __shared__ float tile[256];
    int t = threadIdx.x;
    out[t] = in[t] * 2.0f;
    tile[t] = bias[t] + bias[t + 256];
#pragma unroll 1
    for (int d = 128; d > 0; d /= 2) {
        __syncthreads();
        if (t < d)
            tile[t] += tile[t + d];
    }
    if (t == 0) {
        sums[blockIdx.x] = tile[0];
        __threadfence();
        atomicAdd(count, 1);
    }
}
