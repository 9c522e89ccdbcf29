// Where the source has ended, no byte of it is read, and the pointer may point anywhere. The last part that is there has three bytes.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:uninitialized --arg 1=u8[163]:random:1..=9 --arg 2=u32[1]:zeros
// expect: clean

#include <cuda_pipeline.h>
#include <cassert>

__global__ void unpack(int *out, const unsigned char *in, unsigned *failed)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    int left = 163 - 4 * t;
    int bytes = left < 0 ? 0 : left < 4 ? left : 4;
    __pipeline_memcpy_async(&tile[t], in + 4 * t, 4, 4 - bytes);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    int word = tile[63 - t];
    int behind = 4 * (63 - t) - 163;
    assert(behind < 0 || word == 0);
    assert(behind != -3 || (word & 0xffffff) != 0 && (word & 0xff000000) == 0);
    out[t] = word;
    if (word == -1)
        *failed = 1;
}
