// wrong: data-race
// A step of a search with flags: a vertex reads its cost while its neighbour may write it.
// A step of a breadth-first search: a vertex of the frontier gives its neighbours a distance that it reads while its own neighbours may write it.
__global__ void expand(const int *starts, const int *edges, const bool *frontier, bool *next, const bool *visited, int *cost, int n)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < n && frontier[v])
        for (int e = starts[v]; e < starts[v + 1]; e++) {
            int to = edges[e];
            if (!visited[to]) {
                cost[to] = cost[v] + 1;
                next[to] = true;
            }
        }
}
