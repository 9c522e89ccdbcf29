// A captured graph of two kernels, replayed: in order, or with a kernel that races (racy), or on two streams that nothing orders (apart); or with a
// branch (branch), of which it is said that its order was assumed.
//
// expect: - clean watched=600
// expect: racy data-race
// expect: apart data-race
// expect: branch inconclusive says=branches
#include <cstdio>
#include <cstring>
__global__ void fill(int *data, int value) { data[blockIdx.x * blockDim.x + threadIdx.x] = value; }
__global__ void shift(int *data, const int *from, int apart)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[apart ? i : i / 2] = from[i] + 1;
}
#define OK(call) do { cudaError_t e = (call); if (e) { printf("%s: %s\n", #call, cudaGetErrorString(e)); return 9; } } while (0)
int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "-";
    const int n = 4096;
    int *a, *b;
    OK(cudaMalloc(&a, n * 4));
    OK(cudaMalloc(&b, 2 * n * 4));
    cudaStream_t first, second;
    OK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    cudaGraph_t graph;
    cudaGraphExec_t replay, other;
    OK(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
    fill<<<n / 256, 256, 0, first>>>(a, 3);
    if (!strcmp(how, "branch")) {
        cudaEvent_t fork, join;
        OK(cudaEventCreate(&fork));
        OK(cudaEventCreate(&join));
        OK(cudaEventRecord(fork, first));
        OK(cudaStreamWaitEvent(second, fork));
        fill<<<n / 256, 256, 0, second>>>(b + n, 3);
        OK(cudaEventRecord(join, second));
        shift<<<n / 256, 256, 0, first>>>(b, a, 1);
        OK(cudaStreamWaitEvent(first, join));
    } else
        shift<<<n / 256, 256, 0, first>>>(b, a, strcmp(how, "racy"));
    OK(cudaStreamEndCapture(first, &graph));
    OK(cudaGraphInstantiate(&replay, graph, 0));
    OK(cudaGraphInstantiate(&other, graph, 0));
    int apart = !strcmp(how, "apart");
    for (int i = 0; i < (apart ? 3 : 300); i++) {
        OK(cudaGraphLaunch(replay, first));
        if (apart)
            OK(cudaGraphLaunch(other, second));
    }
    OK(cudaDeviceSynchronize());
    int last;
    OK(cudaMemcpy(&last, b + n / 2 - 1, 4, cudaMemcpyDeviceToHost));
    printf("%d\n", last);
    return last == 4 ? 0 : 8;
}
