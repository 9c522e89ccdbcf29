// right
// A step of a search: a vertex is claimed by whoever exchanges its depth of -1 first.
__global__ void expand(const int *starts, const int *edges, const int *frontier, int *next, int *count, int *depth, int n, int level)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int v = frontier[i];
        for (int e = starts[v]; e < starts[v + 1]; e++) {
            int to = edges[e];
            if (atomicCAS(&depth[to], -1, level) == -1)
                next[atomicAdd(count, 1)] = to;
        }
    }
}
