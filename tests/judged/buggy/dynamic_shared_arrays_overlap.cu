// The second array is cut out one element too early.
//
// flags: --grid 1 --block 32 --shared 256 --arg 0=i32[32]:uninitialized --arg 1=i32[32]:iota
// expect: data-race

extern __shared__ int memory[];

__global__ void carve(int *out, const int *in)
{
    int *first = memory;
    int *second = memory + blockDim.x - 1;
    int t = threadIdx.x;
    first[t] = in[t]; //~ data-race write
    second[t] = -in[t]; //~ data-race write
    __syncthreads();
    out[t] = first[31 - t] + second[31 - t];
}
