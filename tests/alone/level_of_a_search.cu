// wrong: data-race
// A vertex is marked by the thread of its neighbour while its own thread looks whether it is on this level.
__global__ void step(const int *next, int *depth, int n, int level)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && depth[i] == level)
        depth[next[i]] = level + 1;
}
