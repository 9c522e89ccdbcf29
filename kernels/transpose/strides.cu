// One warp reads shared memory with a stride in words. With a power of two as stride, that many lanes
// fall into each bank that is used, and the read takes as many turns; an odd stride has no conflict.

__global__ void read_with_stride(int *out, const int *in, int stride)
{
    __shared__ int tile[32 * 33];

    for (int i = threadIdx.x; i < 32 * 33; i += 32)
        tile[i] = in[i];
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x * stride]; //~[stride-2, stride-4, stride-8, stride-16, stride-32] bank-conflict read
}
