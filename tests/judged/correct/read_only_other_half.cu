// One half of a buffer is read through the read-only cache, the other one is written: no byte is both.
//
// flags: --grid 1 --block 64 --arg 0=i32[128]:iota
// expect: clean

__global__ void copy_up(int *data)
{
    data[64 + threadIdx.x] = __ldg(&data[threadIdx.x ^ 1]) + 1;
}
