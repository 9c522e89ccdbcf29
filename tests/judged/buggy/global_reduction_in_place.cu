// A reduction in place in global memory. The barrier orders the threads of a block; the second step reads what
// another block has written in the first.
//
// flags: --grid 2 --block 64 --arg 0=i32[256]:iota
// expect: data-race

__global__ void reduce(int *data)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int stride = 128; stride > 0; stride /= 2) {
        if (i < stride)
            data[i] += data[i + stride]; //~ data-race#1 read write
        __syncthreads();
    }
}
