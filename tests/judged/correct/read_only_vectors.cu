// Vectors of four through the read-only cache, beside single words that are written between them.
//
// flags: --grid 1 --block 32 --arg 0=f32[256]:random
// expect: clean

__global__ void sums(float *data)
{
    float4 v = __ldg((const float4 *)data + 2 * threadIdx.x);
    data[8 * threadIdx.x + 4] = v.x + v.y + v.z + v.w;
    __syncthreads();
    float4 other = __ldg((const float4 *)data + 2 * (threadIdx.x ^ 1));
    data[8 * threadIdx.x + 5] = other.x;
}
