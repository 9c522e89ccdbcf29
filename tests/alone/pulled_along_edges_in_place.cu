// wrong: data-race
// The same into the array that the neighbours are read from.
__global__ void pull(const int *starts, const int *edges, float *rank, const int *degree, int n)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    float sum = 0;
    for (int e = starts[v]; e < starts[v + 1]; e++) sum += rank[edges[e]] / degree[edges[e]];
    rank[v] = 0.15f + 0.85f * sum;
}
