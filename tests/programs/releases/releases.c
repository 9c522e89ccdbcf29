/* A program as one that was built with the headers of an earlier CUDA: structures have the sizes of that release (`driver_types.h`), functions
   its parameters (`cuda_runtime_api.h`), and the runtime is named as it was then. -DRELEASE=11, 12 or 13. */
#include <string.h>

#include "check.h"

typedef void *Handle;
int cuInit(unsigned), cuModuleLoadData(Handle *, const char *), cuModuleGetFunction(Handle *, Handle, const char *);
int cuArrayCreate_v2(Handle *, const void *), cuArrayDestroy(Handle), cuMemAlloc_v2(unsigned long long *, size_t);
int cuMemFree_v2(unsigned long long), cuMemcpyHtoA_v2(Handle, size_t, const void *, size_t);
int cuMemcpyAtoH_v2(void *, Handle, size_t, size_t), cuMemcpyAtoD_v2(unsigned long long, Handle, size_t, size_t);
int cuMemcpyDtoA_v2(Handle, size_t, unsigned long long, size_t), cuMemcpyAtoA_v2(Handle, size_t, Handle, size_t, size_t);
int cuMemcpyHtoAAsync_v2(Handle, size_t, const void *, size_t, Handle), cuMemcpyAtoHAsync_v2(void *, Handle, size_t, size_t, Handle);
int cuLaunchKernel(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void **, void **);
int cudaFree(void *), cudaDeviceSynchronize(void), cudaRuntimeGetVersion(int *), cudaGetDeviceProperties(void *, int);
int cudaStreamCreate(Handle *), cudaStreamBeginCapture(Handle, int), cudaStreamEndCapture(Handle, Handle *);
int cudaStreamDestroy(Handle), cudaGraphCreate(Handle *, unsigned), cudaGraphDestroy(Handle), cudaGraphExecDestroy(Handle);
int cudaGraphAddEmptyNode(Handle *, Handle, const Handle *, size_t);
#if RELEASE == 13
int cudaGraphAddDependencies(Handle, const Handle *, const Handle *, const void *, size_t);
int cudaGraphRemoveDependencies(Handle, const Handle *, const Handle *, const void *, size_t);
int cudaGraphGetEdges(Handle, Handle *, Handle *, void *, size_t *);
int cudaGraphNodeGetDependencies(Handle, Handle *, void *, size_t *);
int cudaGraphNodeGetDependentNodes(Handle, Handle *, void *, size_t *);
int cudaStreamGetCaptureInfo(Handle, int *, unsigned long long *, Handle *, const Handle **, const void **, size_t *);
int cudaStreamUpdateCaptureDependencies(Handle, Handle *, const void *, size_t, unsigned);
#define EDGES NULL,
#else
int cudaGraphAddDependencies(Handle, const Handle *, const Handle *, size_t);
int cudaGraphRemoveDependencies(Handle, const Handle *, const Handle *, size_t);
int cudaGraphGetEdges(Handle, Handle *, Handle *, size_t *);
int cudaGraphNodeGetDependencies(Handle, Handle *, size_t *);
int cudaGraphNodeGetDependentNodes(Handle, Handle *, size_t *);
int cudaStreamGetCaptureInfo(Handle, int *, unsigned long long *);
int cudaStreamGetCaptureInfo_v2(Handle, int *, unsigned long long *, Handle *, const Handle **, size_t *);
int cudaStreamUpdateCaptureDependencies(Handle, Handle *, size_t, unsigned);
int cudaGetDeviceProperties_v2(void *, int);
#define EDGES
#endif
#if RELEASE == 11
int cudaGraphInstantiate(Handle *, Handle, Handle *, char *, size_t);
int cudaGraphExecUpdate(Handle, Handle, Handle *, int *);
#else
int cudaGraphInstantiate(Handle *, Handle, unsigned long long);
int cudaGraphExecUpdate(Handle, Handle, void *);
#endif

static const char *const PTX = ".version 6.4\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n";

/* Nothing behind the structure is written; multiprocessors and the capability stand where the release has them. */
static void properties(int (*get)(void *, int), size_t bytes, size_t multiprocessors, size_t major) {
    unsigned char all[2048];
    int number;
    memset(all, 0xa5, sizeof all);
    OK(get(all, 0));
    for (size_t i = bytes; i < sizeof all; i++) TRUE(all[i] == 0xa5);
    memcpy(&number, all + multiprocessors, sizeof number);
    TRUE(number == 40);
    memcpy(&number, all + major, sizeof number);
    TRUE(number == 7);
}

/* Bytes go through arrays of one dimension and memory, and come back. */
static void arrays(void) {
    struct { size_t width, height; int format; unsigned channels; } desc = {64, 0, 1, 1};
    unsigned char bytes[64], back[64];
    unsigned long long memory;
    Handle a, b;
    for (int i = 0; i < 64; i++) bytes[i] = 3 * i;
    OK(cuArrayCreate_v2(&a, &desc));
    OK(cuArrayCreate_v2(&b, &desc));
    OK(cuMemAlloc_v2(&memory, 32));
    OK(cuMemcpyHtoA_v2(a, 0, bytes, 40));
    OK(cuMemcpyHtoAAsync_v2(a, 40, bytes + 40, 24, NULL));
    OK(cuMemcpyAtoD_v2(memory, a, 8, 32));
    OK(cuMemcpyDtoA_v2(b, 0, memory, 32));
    OK(cuMemcpyAtoA_v2(b, 32, a, 0, 32));
    OK(cuMemcpyAtoH_v2(back, b, 0, 48));
    OK(cuMemcpyAtoHAsync_v2(back + 48, b, 48, 16, NULL));
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++) TRUE(back[i] == bytes[i < 32 ? i + 8 : i - 32]);
    TRUE(cuMemcpyAtoH_v2(back, b, 60, 8) == 1);
    OK(cuMemFree_v2(memory));
    OK(cuArrayDestroy(a));
    OK(cuArrayDestroy(b));
}

int main(void) {
    int version = 0, status = -1;
    Handle module, kernel, graph, twin, executable, stream, nodes[2], found[4];
    unsigned long long number = 0;
    size_t count = 0;
    OK(cuInit(0));
    OK(cudaFree(NULL));
    OK(cuModuleLoadData(&module, PTX));
    OK(cuModuleGetFunction(&kernel, module, "k"));
    OK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    OK(cudaDeviceSynchronize());
    OK(cudaRuntimeGetVersion(&version));
    TRUE(version / 1000 == RELEASE);
    arrays();
#if RELEASE == 13
    properties(cudaGetDeviceProperties, 1008, 384, 360);
#else
    properties(cudaGetDeviceProperties, 728, 388, 360);
    if (RELEASE == 12) properties(cudaGetDeviceProperties_v2, 1032, 388, 360);
#endif
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEmptyNode(&nodes[0], graph, NULL, 0));
    OK(cudaGraphAddEmptyNode(&nodes[1], graph, NULL, 0));
    OK(cudaGraphAddDependencies(graph, &nodes[0], &nodes[1], EDGES 1));
    OK(cudaGraphGetEdges(graph, NULL, NULL, EDGES &count));
    TRUE(count == 1);
    count = 4;
    OK(cudaGraphNodeGetDependencies(nodes[1], found, EDGES &count));
    TRUE(count == 1 && found[0] == nodes[0]);
    count = 4;
    OK(cudaGraphNodeGetDependentNodes(nodes[0], found, EDGES &count));
    TRUE(count == 1 && found[0] == nodes[1]);
#if RELEASE == 11
    Handle wrong = NULL;
    OK(cudaGraphInstantiate(&executable, graph, &wrong, NULL, 0));
    status = -1;
    OK(cudaGraphExecUpdate(executable, graph, &wrong, &status));
    TRUE(status == 0);
#else
    struct {
        int result;
        Handle node, from;
    } info = {-1, NULL, NULL};
    OK(cudaGraphInstantiate(&executable, graph, 0));
    OK(cudaGraphExecUpdate(executable, graph, &info));
    TRUE(info.result == 0);
#endif
    OK(cudaGraphRemoveDependencies(graph, &nodes[0], &nodes[1], EDGES 1));
    OK(cudaGraphGetEdges(graph, NULL, NULL, EDGES &count));
    TRUE(count == 0);
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCapture(stream, 0));
#if RELEASE == 13
    OK(cudaStreamGetCaptureInfo(stream, &status, &number, NULL, NULL, NULL, NULL));
    OK(cudaStreamUpdateCaptureDependencies(stream, NULL, NULL, 0, 1));
#else
    Handle captured = NULL;
    OK(cudaStreamGetCaptureInfo(stream, &status, &number));
    OK(cudaStreamGetCaptureInfo_v2(stream, &status, &number, &captured, NULL, &count));
    TRUE(captured != NULL && count == 0);
    OK(cudaStreamUpdateCaptureDependencies(stream, NULL, 0, 1));
#endif
    TRUE(status == 1 && number != 0);
    OK(cudaStreamEndCapture(stream, &twin));
    OK(cudaGraphDestroy(twin));
    OK(cudaGraphExecDestroy(executable));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
    printf("as release %d has it\n", RELEASE);
    return 0;
}
