// right
// A kernel that is local to its file: the compiler gives it another name at each compilation.
namespace {
__global__ void mirrored(float *data) {
    __shared__ float part[64];
    part[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = part[63 - threadIdx.x];
}
}
