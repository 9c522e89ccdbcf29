// right
// Each vertex gathers from its neighbours: rows of a graph begin where the row before ends, and the last one ends behind all of them.
__global__ void pull(const int *starts, const int *edges, const float *rank, float *next, const int *degree, int n)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    float sum = 0;
    for (int e = starts[v]; e < starts[v + 1]; e++) sum += rank[edges[e]] / degree[edges[e]];
    next[v] = 0.15f + 0.85f * sum;
}
