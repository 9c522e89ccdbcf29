// right
// Trees of a union-find, in which only roots are hooked, by compare-and-swap. Each vertex is its own root at first, or nothing is done.
__device__ int root(int *parent, int v)
{
    int p;
    while ((p = atomicAdd(&parent[v], 0)) != v) v = p;
    return v;
}
__global__ void hook(const int *from, const int *to, int *parent, int edges)
{
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= edges) return;
    int a = root(parent, from[e]), b = root(parent, to[e]);
    while (a != b) {
        if (a < b) { int t = a; a = b; b = t; }
        int old = atomicCAS(&parent[a], a, b);
        if (old == a) break;
        a = root(parent, old);
        b = root(parent, b);
    }
}
