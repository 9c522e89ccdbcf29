// right
// Nobody says which vertices the edges lead to, but they are vertices; that there are more edges makes them no larger.
#include <cstdlib>

void random_graph(int vertices, int *edges, int **first, int **to)
{
    *first = (int *)malloc((vertices + 1) * sizeof(int));
    *to = (int *)malloc(vertices * 16 * sizeof(int));
    *edges = 0;
    for (int i = 0; i < vertices; i++) {
        (*first)[i] = *edges;
        for (int j = rand() % 16; j > 0; j--)
            (*to)[(*edges)++] = rand() % vertices;
    }
    (*first)[vertices] = *edges;
}

__global__ void step(int level, int vertices, const int *first, const int *to, int *label, int *changed)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= vertices || label[i] != level)
        return;
    for (int e = first[i]; e < first[i + 1]; e++)
        if (atomicCAS(&label[to[e]], -1, level + 1) == -1)
            atomicExch(changed, 1);
}

int main()
{
    const int vertices = 300;
    int edges, *first, *to;
    random_graph(vertices, &edges, &first, &to);
    int *d_first, *d_to, *label, *changed;
    cudaMalloc(&d_first, (vertices + 1) * sizeof(int));
    cudaMalloc(&d_to, edges * sizeof(int));
    cudaMalloc(&label, vertices * sizeof(int));
    cudaMalloc(&changed, sizeof(int));
    cudaMemcpy(d_first, first, (vertices + 1) * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemcpy(d_to, to, edges * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemset(label, 0, vertices * sizeof(int));
    cudaMemset(changed, 0, sizeof(int));
    step<<<(vertices + 127) / 128, 128>>>(0, vertices, d_first, d_to, label, changed);
    return cudaDeviceSynchronize();
}
