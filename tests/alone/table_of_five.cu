// right
// A table of five elements, one for each thread: a block of five is launched.
__device__ float table[5];

__global__ void table_of_five() {
    table[threadIdx.x] *= threadIdx.x;
}
