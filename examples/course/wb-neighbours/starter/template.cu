#include <wb.h>

#define BLOCK 128

#define check(call)                                                   \
    do {                                                              \
        cudaError_t error = call;                                     \
        if (error != cudaSuccess) {                                   \
            wbLog(ERROR, #call, " fails: ", cudaGetErrorString(error)); \
            return 1;                                                 \
        }                                                             \
    } while (0)

// out[i] is in[i - 1] + in[i] + in[i + 1]; what lies outside counts as 0. Threads share what they read.
__global__ void neighbours(const float *in, float *out, int n)
{
    // Your kernel.
}

int main(int argc, char **argv)
{
    wbArg_t args = wbArg_read(argc, argv);
    int n;
    float *in = (float *)wbImport(wbArg_getInputFile(args, 0), &n);
    float *out = (float *)malloc(n * sizeof(float));
    wbLog(TRACE, "The input length is ", n);

    float *device_in, *device_out;
    wbTime_start(GPU, "Allocating and copying");
    check(cudaMalloc((void **)&device_in, n * sizeof(float)));
    check(cudaMalloc((void **)&device_out, n * sizeof(float)));
    check(cudaMemcpy(device_in, in, n * sizeof(float), cudaMemcpyHostToDevice));
    wbTime_stop(GPU, "Allocating and copying");

    neighbours<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(device_in, device_out, n);
    check(cudaDeviceSynchronize());

    check(cudaMemcpy(out, device_out, n * sizeof(float), cudaMemcpyDeviceToHost));
    cudaFree(device_in);
    cudaFree(device_out);
    wbSolution(args, out, n);
    free(in);
    free(out);
    return 0;
}
