// Kernels that launch kernels, and a loop of a graph that a kernel ends.
//~ nvcc -rdc=true
//~ run : clean
//~ run race: data-race@20
//~ prints: 1023 nodes, sum 523776
//~ prints: 10 rounds
#include <cstdio>
#include <cstring>

__global__ void grow(int *nodes, int *sum, int node, int last)
{
    if (threadIdx.x > 0) return;
    atomicAdd(nodes, 1);
    atomicAdd(sum, node);
    if (2 * node + 1 > last) return;
    grow<<<1, 32>>>(nodes, sum, 2 * node, last);
    grow<<<1, 32>>>(nodes, sum, 2 * node + 1, last);
}

__global__ void clash(int *word) { *word = threadIdx.x; }
__global__ void parent(int *word) { if (threadIdx.x == 0) clash<<<1, 64>>>(word); }

// The edges' data came with CUDA 13, graphs with conditions with 12.3.
#if CUDART_VERSION >= 13000
#define ADD(node, graph, params) cudaGraphAddNode(node, graph, nullptr, nullptr, 0, params)
#else
#define ADD(node, graph, params) cudaGraphAddNode(node, graph, nullptr, 0, params)
#endif

#if CUDART_VERSION >= 12030
__global__ void count(int *rounds, cudaGraphConditionalHandle go_on)
{
    *rounds += 1;
    cudaGraphSetConditional(go_on, *rounds < 10);
}

static void repeat(int *rounds)
{
    cudaGraph_t graph, body;
    cudaGraphCreate(&graph, 0);
    cudaGraphConditionalHandle go_on;
    cudaGraphConditionalHandleCreate(&go_on, graph, 1, cudaGraphCondAssignDefault);
    cudaGraphNodeParams loop = {cudaGraphNodeTypeConditional};
    loop.conditional.handle = go_on;
    loop.conditional.type = cudaGraphCondTypeWhile;
    loop.conditional.size = 1;
    cudaGraphNode_t node, inner;
    ADD(&node, graph, &loop);
    body = loop.conditional.phGraph_out[0];
    cudaGraphNodeParams once = {cudaGraphNodeTypeKernel};
    void *args[] = {&rounds, &go_on};
    once.kernel.func = (void *)count;
    once.kernel.gridDim = dim3(1);
    once.kernel.blockDim = dim3(1);
    once.kernel.kernelParams = args;
    ADD(&inner, body, &once);
    cudaGraphExec_t ready;
    cudaGraphInstantiate(&ready, graph, 0);
    cudaGraphLaunch(ready, 0);
    cudaDeviceSynchronize();
    cudaGraphExecDestroy(ready);
    cudaGraphDestroy(graph);
}
#else
__global__ void count(int *rounds) { *rounds += 1; }

static void repeat(int *rounds)
{
    for (int i = 0; i < 10; i++)
        count<<<1, 1>>>(rounds);
}
#endif

int main(int argc, char **argv)
{
    int *results, back[2];
    cudaMalloc(&results, sizeof back);
    cudaMemset(results, 0, sizeof back);
    grow<<<1, 32>>>(results, results + 1, 1, 1023);
    cudaMemcpy(back, results, sizeof back, cudaMemcpyDeviceToHost);
    printf("%d nodes, sum %d\n", back[0], back[1]);
    if (argc > 1 && !strcmp(argv[1], "race")) parent<<<1, 32>>>(results);

    cudaMemset(results, 0, sizeof back);
    repeat(results);
    cudaMemcpy(back, results, sizeof back, cudaMemcpyDeviceToHost);
    printf("%d rounds\n", back[0]);
    cudaFree(results);
    return cudaGetLastError();
}
