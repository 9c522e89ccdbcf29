// A histogram in global memory that counts by plain increments, within a block and across blocks.
//
// flags: --grid 4 --block 32 --arg 0=i32[8]:zeros --arg 1=u8[128]:random:0..=7
// expect: data-race

__global__ void histogram(int *bins, const unsigned char *values)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bins[values[i]] += 1; //~ data-race#1 read write, data-race#2 write
}
