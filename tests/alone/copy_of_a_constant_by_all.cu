// wrong: data-race
// Copies 48 MB, and all threads write one variable.
#define ELEMENTS 3000000

__global__ void copy_of_a_constant_by_all(const float4 *in, float4 *out) {
    __shared__ int last;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < ELEMENTS; i += blockDim.x * gridDim.x) {
        out[i] = in[i];
        last = i;
    }
}
