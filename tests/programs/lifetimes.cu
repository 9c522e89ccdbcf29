// Memory that streams allocate and free in their own order.
//~ run same-stream: clean
//~ run freed-early: use-after-free@35
//~ run freed-behind-event: clean
//~ run freed-behind-host: clean
//~ run used-early: use-after-free@43
//~ run used-behind-event: clean
//~ run freed-before-allocated: use-after-free@53
//~ run graph: clean
#include <cstdio>
#include <cstring>

__global__ void fill(int *p) { p[threadIdx.x] = threadIdx.x; }

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "same-stream";
    auto is = [how](const char *name) { return !strcmp(how, name); };
    cudaStream_t a, b;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaEvent_t done;
    cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
    int *p;
    if (is("same-stream")) {
        for (int i = 0; i < 3; i++) {
            cudaMallocAsync(&p, 256, a);
            fill<<<1, 64, 0, a>>>(p);
            cudaFreeAsync(p, a);
        }
    } else if (is("freed-early") || is("freed-behind-event") || is("freed-behind-host")) {
        cudaMallocAsync(&p, 256, a);
        cudaStreamSynchronize(a);
        if (is("freed-early")) {
            fill<<<1, 64, 0, b>>>(p);
            // Stream a may free it, and give it out again, while stream b uses it.
            cudaFreeAsync(p, a);
        } else {
            fill<<<1, 64, 0, b>>>(p);
        }
    } else if (is("used-early") || is("used-behind-event") || is("freed-before-allocated")) {
        cudaMallocAsync(&p, 256, a);
        if (is("used-early")) fill<<<1, 64, 0, b>>>(p);
    }
    if (is("freed-behind-event") || is("used-behind-event")) {
        cudaEventRecord(done, is("freed-behind-event") ? b : a);
        cudaStreamWaitEvent(is("freed-behind-event") ? a : b, done);
        if (is("used-behind-event")) fill<<<1, 64, 0, b>>>(p);
    }
    if (is("freed-behind-host")) cudaStreamSynchronize(b);
    if (is("freed-behind-event") || is("freed-behind-host")) cudaFreeAsync(p, a);
    if (is("used-early") || is("used-behind-event")) cudaDeviceSynchronize(), cudaFreeAsync(p, b);
    if (is("freed-before-allocated")) cudaFreeAsync(p, b);
    if (is("graph")) {
        cudaGraph_t graph;
        cudaGraphExec_t ready;
        cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal);
        cudaMallocAsync(&p, 256, a);
        fill<<<1, 64, 0, a>>>(p);
        cudaFreeAsync(p, a);
        cudaStreamEndCapture(a, &graph);
        cudaGraphInstantiate(&ready, graph, 0);
        for (int i = 0; i < 3; i++) cudaGraphLaunch(ready, a);
        cudaStreamSynchronize(a);
        cudaGraphExecDestroy(ready);
        cudaGraphDestroy(graph);
    }
    cudaDeviceSynchronize();
    cudaEventDestroy(done);
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
    return cudaGetLastError();
}
