// wrong: data-race
// The same by a look: two threads may see -1. Depths are -1 because the kernel asks for that.
__global__ void expand(const int *starts, const int *edges, const int *frontier, int *next, int *count, int *depth, int n, int level)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int v = frontier[i];
        for (int e = starts[v]; e < starts[v + 1]; e++) {
            int to = edges[e];
            if (depth[to] == -1) {
                depth[to] = level;
                next[atomicAdd(count, 1)] = to;
            }
        }
    }
}
