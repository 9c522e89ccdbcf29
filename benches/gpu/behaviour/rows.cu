// Copies and memsets of rows beside a kernel on another stream: at its words, or at others (apart).
//
// expect: memset data-race says=cuMemsetD2D
// expect: copy data-race says=cuMemcpy
// expect: cube data-race says=cuMemcpy3D
// expect: apart clean
#include <cstdio>
#include <cstring>
__global__ void fill(int *data) { data[threadIdx.x] = threadIdx.x; }
#define OK(call) do { cudaError_t e = (call); if (e) { printf("%s: %s\n", #call, cudaGetErrorString(e)); return 9; } } while (0)
int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "memset";
    int *data, *other;
    OK(cudaMalloc(&data, 1 << 20));
    OK(cudaMalloc(&other, 1 << 20));
    cudaStream_t first, second;
    OK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    fill<<<1, 64, 0, first>>>(data);
    if (!strcmp(how, "memset"))
        OK(cudaMemset2DAsync(data, 512, 0, 64, 8, second));
    if (!strcmp(how, "apart"))
        OK(cudaMemset2DAsync(data + 64, 512, 0, 128, 8, second));
    if (!strcmp(how, "copy"))
        OK(cudaMemcpy2DAsync(data, 512, other, 512, 64, 8, cudaMemcpyDeviceToDevice, second));
    if (!strcmp(how, "cube")) {
        cudaMemcpy3DParms copy = {};
        copy.srcPtr = make_cudaPitchedPtr(other, 512, 512, 16);
        copy.dstPtr = make_cudaPitchedPtr(data, 512, 512, 16);
        copy.extent = make_cudaExtent(64, 4, 3);
        copy.kind = cudaMemcpyDeviceToDevice;
        OK(cudaMemcpy3DAsync(&copy, second));
    }
    OK(cudaDeviceSynchronize());
    return 0;
}
