// A histogram in global memory that counts by atomic additions.
//
// flags: --grid 4 --block 32 --arg 0=i32[8]:zeros --arg 1=u8[128]:random:0..=7
// expect: clean

__global__ void histogram(int *bins, const unsigned char *values)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&bins[values[i]], 1);
}
