// Softmax of a row: the sum overwrites the scratch array that slower warps still read the maximum from.
//
// flags: --grid 2 --block 128 --arg 0=f32[256]:uninitialized --arg 1=f32[256]:random:-4..=4
// expect: data-race

__device__ float block_max(float value, float *scratch)
{
    for (int d = 16; d > 0; d /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, d));
    if (threadIdx.x % 32 == 0)
        scratch[threadIdx.x / 32] = value;
    __syncthreads();
    value = scratch[threadIdx.x % 4]; //~ data-race read
    for (int d = 2; d > 0; d /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, d));
    return value;
}

__device__ float block_sum(float value, float *scratch)
{
    for (int d = 16; d > 0; d /= 2)
        value += __shfl_xor_sync(0xffffffff, value, d);
    if (threadIdx.x % 32 == 0)
        scratch[threadIdx.x / 32] = value; //~ data-race write
    __syncthreads();
    value = scratch[threadIdx.x % 4];
    for (int d = 2; d > 0; d /= 2)
        value += __shfl_xor_sync(0xffffffff, value, d);
    return value;
}

__global__ void softmax(float *out, const float *in)
{
    __shared__ float scratch[4];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    float top = block_max(x, scratch);
    float e = expf(x - top);
    float sum = block_sum(e, scratch);
    out[i] = e / sum;
}
