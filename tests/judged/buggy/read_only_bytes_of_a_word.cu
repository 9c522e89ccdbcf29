// A word is written, one of its bytes read through the read-only cache.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:iota --arg 1=u8[32]:uninitialized
// expect: non-coherent-read

__global__ void second_bytes(int *data, unsigned char *out)
{
    int t = threadIdx.x;
    data[t] <<= 8; //~ non-coherent-read#1 write
    __syncwarp();
    out[t] = __ldg((const unsigned char *)&data[t ^ 1] + 1); //~ non-coherent-read#1 read
}
