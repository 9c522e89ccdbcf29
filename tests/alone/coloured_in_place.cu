// wrong: data-race
// A vertex looks at the colours of neighbours that are being coloured. Only vertices of colour -1 do anything.
__global__ void color(const int *starts, const int *edges, const int *weight, int *color, int n, int round)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n || color[v] != -1) return;
    bool largest = true;
    for (int e = starts[v]; e < starts[v + 1]; e++) {
        int u = edges[e];
        if (color[u] == -1 && weight[u] > weight[v]) largest = false;
    }
    if (largest) color[v] = round;
}
