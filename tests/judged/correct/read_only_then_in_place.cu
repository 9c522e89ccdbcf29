// All threads of the block read through the read-only cache, meet, and only then write the same memory.
//
// flags: --grid 2 --block 64 --arg 0=i32[128]:iota
// expect: clean

__global__ void reverse(int *data)
{
    data += blockIdx.x * 64;
    int value = __ldg(&data[63 - threadIdx.x]);
    __syncthreads();
    data[threadIdx.x] = value;
}
