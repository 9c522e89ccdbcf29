// What the block has just written is read through the read-only cache.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota --arg 1=i32[64]:uninitialized
// expect: non-coherent-read

__global__ void squares(int *data, int *out)
{
    int t = threadIdx.x;
    data[t] *= data[t]; //~ non-coherent-read#1 write
    __syncthreads();
    out[t] = __ldg(&data[t ^ 1]); //~ non-coherent-read#1 read
}
