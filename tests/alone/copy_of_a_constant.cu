// doubtful: out-of-bounds
// Copies 48 MB, as a constant says: more than racetrap gives a buffer of which nobody says how large it is.
#define ELEMENTS 3000000

__global__ void copy_of_a_constant(const float4 *in, float4 *out) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < ELEMENTS; i += blockDim.x * gridDim.x)
        out[i] = in[i];
}
