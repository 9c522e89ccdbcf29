// wrong: data-race
// Roots are hooked by plain stores.
__global__ void hook(const int *from, const int *to, int *parent, int edges)
{
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= edges) return;
    int a = parent[from[e]], b = parent[to[e]];
    if (a != b) {
        if (a < b) parent[b] = a;
        else parent[a] = b;
    }
}
