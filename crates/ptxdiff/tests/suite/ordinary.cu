// Ordinary kernels, to be compiled in two ways.

#define KERNEL extern "C" __global__ void

KERNEL saxpy(float a, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
KERNEL strided(const int *in, int *out, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = in[i] + 1;
}
KERNEL reversed(int *data)
{
    __shared__ int tile[256];
    int t = threadIdx.x;
    tile[t] = data[t];
    __syncthreads();
    data[t] = tile[255 - t];
}
KERNEL reduced(const int *in, int *out)
{
    __shared__ int tile[256];
    int t = threadIdx.x;
    tile[t] = in[blockIdx.x * 256 + t];
    __syncthreads();
    for (int d = 128; d > 0; d /= 2) {
        if (t < d)
            tile[t] += tile[t + d];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = tile[0];
}
KERNEL scanned(int *data, int n)
{
    __shared__ int tile[256];
    int t = threadIdx.x;
    tile[t] = data[t];
    __syncthreads();
    for (int d = 1; d < n; d *= 2) {
        int left = t >= d ? tile[t - d] : 0;
        __syncthreads();
        tile[t] += left;
        __syncthreads();
    }
    data[t] = tile[t];
}
KERNEL histogram(const int *keys, int *bins, int n)
{
    __shared__ int own[64];
    if (threadIdx.x < 64)
        own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[keys[i] & 63], 1);
    __syncthreads();
    if (threadIdx.x < 64)
        atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
KERNEL transposed(const float *in, float *out, int n)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}
KERNEL stencil(const float *in, float *out, int n)
{
    __shared__ float tile[258];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    tile[t + 1] = in[i];
    if (t == 0)
        tile[0] = i > 0 ? in[i - 1] : 0.0f;
    if (t == 255)
        tile[257] = i + 1 < n ? in[i + 1] : 0.0f;
    __syncthreads();
    out[i] = 0.25f * tile[t] + 0.5f * tile[t + 1] + 0.25f * tile[t + 2];
}
KERNEL multiplied(const float *x, const float *y, float *z, int n)
{
    __shared__ float a[16][16], b[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        a[threadIdx.y][threadIdx.x] = x[row * n + k + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = y[(k + threadIdx.y) * n + column];
        __syncthreads();
        for (int i = 0; i < 16; i++)
            sum += a[threadIdx.y][i] * b[i][threadIdx.x];
        __syncthreads();
    }
    z[row * n + column] = sum;
}
KERNEL shuffled(int *data)
{
    int value = data[threadIdx.x];
    for (int d = 16; d > 0; d /= 2)
        value += __shfl_down_sync(0xffffffff, value, d);
    if (threadIdx.x == 0)
        data[0] = value;
}
KERNEL digits(const unsigned *in, unsigned *out)
{
    unsigned x = in[threadIdx.x];
    unsigned sum = 0;
    while (x > 0) {
        sum += x % 10;
        x /= 10;
    }
    out[threadIdx.x] = sum;
}
