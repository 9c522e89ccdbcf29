// Graphs by hand and by capture: results, launches again with other arguments, and nodes that nothing orders.
//~ run : clean
//~ run unordered: data-race@16
//~ run branches: data-race@16,20
//~ prints: 0 values differ
//~ prints: the host was called 5 times
#include <cstdio>
#include <cstring>

const int n = 512;

__global__ void add(int *data, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] += value;
}
__global__ void twice(int *data, int *to)
{
    to[blockIdx.x * blockDim.x + threadIdx.x] = 2 * data[blockIdx.x * blockDim.x + threadIdx.x];
}

#if CUDART_VERSION < 12000
#define cudaGraphInstantiate(ready, graph, flags) cudaGraphInstantiate(ready, graph, nullptr, nullptr, 0)
#endif

static int calls;
static void CUDART_CB called(void *by) { calls += *(int *)by; }

static int differing(const int *data, int wanted)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        count += data[i] != wanted;
    return count;
}

static cudaKernelNodeParams launch(void *kernel, void **args)
{
    cudaKernelNodeParams params = {};
    params.func = kernel;
    params.gridDim = dim3(n / 128);
    params.blockDim = dim3(128);
    params.kernelParams = args;
    return params;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int *data, *other, *host, differ = 0, one = 1;
    cudaMalloc(&data, n * sizeof(int));
    cudaMalloc(&other, n * sizeof(int));
    cudaMallocHost(&host, n * sizeof(int));
    cudaStream_t stream, side;
    cudaStreamCreate(&stream);
    cudaStreamCreate(&side);

    // By hand: set, add twice, double, copy back, call the host.
    cudaGraph_t graph;
    cudaGraphNode_t set, first, second, doubled, back, call;
    cudaGraphCreate(&graph, 0);
    cudaMemsetParams fill = {};
    fill.dst = data;
    fill.elementSize = 4;
    fill.value = 7;
    fill.width = n;
    fill.height = 1;
    cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &fill);
    int three = 3, four = 4;
    void *add_three[] = {&data, &three}, *add_four[] = {&data, &four}, *both[] = {&data, &other};
    cudaKernelNodeParams params = launch((void *)add, add_three);
    cudaGraphAddKernelNode(&first, graph, &set, 1, &params);
    params = launch((void *)add, add_four);
    cudaGraphAddKernelNode(&second, graph, strcmp(how, "unordered") ? &first : &set, 1, &params);
    params = launch((void *)twice, both);
    cudaGraphNode_t after[] = {first, second};
    cudaGraphAddKernelNode(&doubled, graph, after, 2, &params);
    cudaGraphAddMemcpyNode1D(&back, graph, &doubled, 1, host, other, n * sizeof(int), cudaMemcpyDeviceToHost);
    cudaHostNodeParams function = {called, &one};
    cudaGraphAddHostNode(&call, graph, &back, 1, &function);
    size_t count = 0;
    cudaGraphGetNodes(graph, nullptr, &count);
    differ += count != 6;
    cudaGraphExec_t ready;
    cudaGraphInstantiate(&ready, graph, 0);
    cudaGraphLaunch(ready, stream);
    cudaStreamSynchronize(stream);
    differ += differing(host, 28);
    int hundred = 100;
    void *add_hundred[] = {&data, &hundred};
    params = launch((void *)add, add_hundred);
    cudaGraphExecKernelNodeSetParams(ready, second, &params);
    for (int i = 0; i < 2; i++)
        cudaGraphLaunch(ready, stream);
    cudaStreamSynchronize(stream);
    differ += differing(host, 220);
    cudaGraphExecDestroy(ready);
    cudaGraphDestroy(graph);

    // By capture, with a second stream in between.
    cudaEvent_t forked, joined;
    cudaEventCreate(&forked);
    cudaEventCreate(&joined);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    cudaMemsetAsync(data, 0, n * sizeof(int), stream);
    add<<<n / 128, 128, 0, stream>>>(data, 5);
    cudaEventRecord(forked, stream);
    cudaStreamWaitEvent(side, forked);
    twice<<<n / 128, 128, 0, side>>>(data, other);
    cudaEventRecord(joined, side);
    if (!strcmp(how, "branches")) add<<<n / 128, 128, 0, stream>>>(data, 1);
    cudaStreamWaitEvent(stream, joined);
    cudaMemcpyAsync(host, other, n * sizeof(int), cudaMemcpyDeviceToHost, stream);
    cudaLaunchHostFunc(stream, called, &one);
    cudaStreamCaptureStatus status;
    cudaStreamIsCapturing(side, &status);
    differ += status != cudaStreamCaptureStatusActive;
    cudaStreamEndCapture(stream, &graph);
    differ += calls != 3; // nothing has run yet
    cudaGraphInstantiate(&ready, graph, 0);
    for (int i = 0; i < 2; i++)
        cudaGraphLaunch(ready, stream);
    cudaStreamSynchronize(stream);
    differ += differing(host, 10);
    cudaGraphExecDestroy(ready);
    cudaGraphDestroy(graph);

    // A graph's own memory: allocated and freed at each launch.
    cudaGraphCreate(&graph, 0);
    cudaMemAllocNodeParams memory = {};
    memory.poolProps.allocType = cudaMemAllocationTypePinned;
    memory.poolProps.location.type = cudaMemLocationTypeDevice;
    memory.bytesize = n * sizeof(int);
    cudaGraphNode_t allocated, freed;
    cudaGraphAddMemAllocNode(&allocated, graph, nullptr, 0, &memory);
    fill.dst = memory.dptr;
    fill.value = 9;
    cudaGraphAddMemsetNode(&set, graph, &allocated, 1, &fill);
    cudaGraphAddMemcpyNode1D(&back, graph, &set, 1, host, memory.dptr, n * sizeof(int), cudaMemcpyDeviceToHost);
    cudaGraphAddMemFreeNode(&freed, graph, &back, 1, memory.dptr);
    cudaGraphInstantiate(&ready, graph, 0);
    for (int i = 0; i < 2; i++) {
        memset(host, 0, n * sizeof(int));
        cudaGraphLaunch(ready, stream);
        cudaStreamSynchronize(stream);
        differ += differing(host, 9);
    }
    cudaGraphExecDestroy(ready);
    cudaGraphDestroy(graph);

    cudaEventDestroy(forked);
    cudaEventDestroy(joined);
    cudaStreamDestroy(stream);
    cudaStreamDestroy(side);
    cudaFree(data);
    cudaFree(other);
    cudaFreeHost(host);
    printf("%d values differ\nthe host was called %d times\n", *how ? 0 : differ, calls);
    return cudaGetLastError();
}
