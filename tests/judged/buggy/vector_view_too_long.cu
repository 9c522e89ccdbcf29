// Vectors of four are taken from shared memory that has a quarter of what the block needs.
//
// flags: --grid 1 --block 64 --arg 0=f32[64]:iota --arg 1=f32[64]:uninitialized
// expect: out-of-bounds

__global__ void sums(const float *in, float *out)
{
    __shared__ __align__(16) float tile[64];
    int t = threadIdx.x;
    tile[t] = in[t];
    __syncthreads();
    float4 v = ((float4 *)tile)[t]; //~ out-of-bounds read
    out[t] = v.x + v.y + v.z + v.w;
}
