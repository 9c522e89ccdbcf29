// A table that no thread writes is read through the read-only cache, and the results go elsewhere.
//
// flags: --grid 2 --block 64 --arg 0=i32[128]:iota --arg 1=i32[128]:random:0..=127 --arg 2=i32[128]:uninitialized
// expect: clean

__global__ void gather(const int *__restrict__ table, const int *__restrict__ index, int *__restrict__ out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = table[index[i]];
}
