// A stencil whose first thread reads the element before the buffer, which is far from any other memory.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota --arg 1=i32[64]:zeros
// expect: out-of-bounds

__global__ void differences(const int *in, int *out)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = in[t];
    __syncthreads();
    out[t] = tile[t] - in[t - 1]; //~ out-of-bounds read
}
