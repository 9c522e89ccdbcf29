// Misuse of the API, one kind for each argument. Programs go on after it, as many do.
//~ run past-the-end: invalid-api-use@39
//~ run double-free: invalid-api-use@42
//~ run middle: invalid-api-use@44
//~ run freed: invalid-api-use@47
//~ run wrong-function: invalid-api-use@50
//~ run direction: invalid-api-use@52
//~ run symbol: invalid-api-use@54
//~ run event: invalid-api-use@59
//~ run stream: invalid-api-use@64
//~ run leak: leak@66
//~ run unchecked: unchecked-error@69
//~ run checked: clean
//~ run kernel-past-the-end: out-of-bounds@25
//~ run kernel-freed: use-after-free@25
#include <cstdio>
#include <cstring>

__device__ int variable;

__global__ void write(int *data, int n)
{
    int i = threadIdx.x;
    if (i < n)
        data[i] = i;
}

int main(int argc, char **argv)
{
    auto is = [&](const char *name) { return argc > 1 && !strcmp(argv[1], name); };
    int host[64] = {}, *device = nullptr, *pinned = nullptr;
    cudaMalloc(&device, 64 * sizeof(int));
    write<<<1, 64>>>(device, 64);
    cudaMallocHost(&pinned, 64);

    if (is("past-the-end")) {
        // 64 integers are 256 bytes.
        cudaMemset(device, 0, 256);
        cudaMemcpy(host, device, 260, cudaMemcpyDeviceToHost);
    } else if (is("double-free")) {
        int *other; cudaMalloc(&other, 4); cudaFree(other);
        cudaFree(other);
    } else if (is("middle")) {
        cudaFree(device + 1);
    } else if (is("freed")) {
        int *other; cudaMalloc(&other, 4); cudaFree(other);
        cudaMemset(other, 0, 4);
    } else if (is("wrong-function")) {
        int *other; cudaMalloc(&other, 4);
        cudaFreeHost(other); cudaFree(other);
    } else if (is("direction")) {
        cudaMemcpy(host, device, 256, cudaMemcpyHostToDevice);
    } else if (is("symbol")) {
        cudaMemcpyToSymbol(variable, host, 8);
    } else if (is("event")) {
        cudaEvent_t event;
        cudaEventCreate(&event);
        cudaEventDestroy(event);
        cudaEventRecord(event);
    } else if (is("stream")) {
        cudaStream_t stream;
        cudaStreamCreate(&stream);
        cudaStreamDestroy(stream);
        cudaStreamSynchronize(stream);
    } else if (is("leak")) {
        int *lost; cudaMalloc(&lost, 1000);
    } else if (is("unchecked")) {
        // A block has at most 1024 threads.
        write<<<1, 2048>>>(device, 64);
    } else if (is("checked")) {
        write<<<1, 2048>>>(device, 64);
        if (cudaGetLastError() != cudaErrorInvalidConfiguration) return 2;
    } else if (is("kernel-past-the-end")) {
        write<<<1, 65>>>(device, 65);
    } else if (is("kernel-freed")) {
        int *other; cudaMalloc(&other, 4); cudaFree(other);
        write<<<1, 1>>>(other, 1);
    } else if (is("by-status")) {
        cudaLaunchConfig_t how = {};
        how.gridDim = 1;
        how.blockDim = 2048;
        if (cudaLaunchKernelEx(&how, write, device, 64) != cudaErrorInvalidConfiguration) return 2;
    }
    cudaFree(device);
    cudaFreeHost(pinned);
    return 0;
}
//~ run by-status: clean
