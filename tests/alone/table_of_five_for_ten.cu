// wrong: out-of-bounds
// The guard says that there are ten threads, and the table has five elements.
__device__ float table[5];

__global__ void table_of_five_for_ten() {
    if (threadIdx.x < 10) {
        table[threadIdx.x] *= threadIdx.x;
    }
}
