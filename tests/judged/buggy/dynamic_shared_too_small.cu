// The launch gives half of the shared memory that the two arrays need.
//
// flags: --grid 1 --block 32 --shared 128 --arg 0=i32[32]:uninitialized --arg 1=i32[32]:iota
// expect: out-of-bounds

extern __shared__ int memory[];

__global__ void carve(int *out, const int *in)
{
    int *first = memory;
    int *second = memory + blockDim.x;
    int t = threadIdx.x;
    first[t] = in[t];
    second[t] = -in[t]; //~ out-of-bounds write
    __syncthreads();
    out[t] = first[31 - t] + second[31 - t]; //~ out-of-bounds read
}
