// More launches and barriers than counters can tell apart: nothing is reported in the right kernels, and a race behind them is.
//
// expect: launches clean watched=70000
// expect: barriers clean
// expect: captured clean watched=200
// expect: racy data-race
#include <cstdio>
#include <cstring>
__global__ void step(int *data) { data[blockIdx.x * blockDim.x + threadIdx.x] += 1; }
__global__ void turns(int *data, int turns, int racy)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = t;
    for (int i = 0; i < turns; i++) {
        __syncthreads();
        int other = tile[(t + 1) % 64];
        __syncthreads();
        tile[t] = other;
    }
    if (!racy)
        __syncthreads();
    data[blockIdx.x * 64 + t] = tile[63 - t];
}
#define OK(call) do { cudaError_t e = (call); if (e) { printf("%s: %s\n", #call, cudaGetErrorString(e)); return 9; } } while (0)
int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "launches";
    int *data;
    OK(cudaMalloc(&data, 4096 * 4));
    OK(cudaMemset(data, 0, 4096 * 4));
    OK(cudaDeviceSynchronize());
    if (!strcmp(how, "launches")) {
        for (int i = 0; i < 70000; i++)
            step<<<4, 64>>>(data);
    } else if (!strcmp(how, "captured")) {
        // Another stream records all the while.
        cudaStream_t recording, working;
        OK(cudaStreamCreateWithFlags(&recording, cudaStreamNonBlocking));
        OK(cudaStreamCreateWithFlags(&working, cudaStreamNonBlocking));
        OK(cudaStreamBeginCapture(recording, cudaStreamCaptureModeGlobal));
        for (int i = 0; i < 200; i++)
            step<<<4, 64, 0, working>>>(data);
        step<<<4, 64, 0, recording>>>(data);
        cudaGraph_t graph;
        OK(cudaStreamEndCapture(recording, &graph));
    } else {
        turns<<<2, 64>>>(data, 35000, !strcmp(how, "racy"));
    }
    OK(cudaDeviceSynchronize());
    int first;
    OK(cudaMemcpy(&first, data, 4, cudaMemcpyDeviceToHost));
    printf("%d\n", first);
    return !strcmp(how, "launches") && first != 70000 || !strcmp(how, "captured") && first != 200;
}
