// wrong: out-of-bounds
// As many threads as the table has elements, and the last one reads behind it.
__device__ float table[5];

__global__ void table_of_five_next(float *out) {
    out[threadIdx.x] = table[threadIdx.x + 1];
}
