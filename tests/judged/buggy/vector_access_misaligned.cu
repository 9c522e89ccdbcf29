// A pointer one element into the buffer is read as vectors of four.
//
// flags: --grid 1 --block 8 --arg 0=i32[32]:uninitialized --arg 1=i32[64]:iota
// expect: misaligned-access

__global__ void copy(int4 *out, const int *in)
{
    out[threadIdx.x] = ((const int4 *)(in + 1))[threadIdx.x]; //~ misaligned-access read
}
