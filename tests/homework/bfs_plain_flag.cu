// wrong: data-race
#include <cstdio>
#include <cstdlib>
#define VERTICES 256
#define DEGREE 4

// One step of breadth-first search: the neighbours of the frontier that nobody has seen make up the next one.
__global__ void expand(const int *edges, int *seen, const int *frontier, int count, int *next, int *next_count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int v = frontier[i];
    for (int k = 0; k < DEGREE; k++) {
        int u = edges[v * DEGREE + k];
        if (seen[u] == 0) {
            seen[u] = 1;
            next[atomicAdd(next_count, 1)] = u;
        }
    }
}

int main() {
    static int edges[VERTICES * DEGREE], frontier[VERTICES];
    for (int i = 0; i < VERTICES * DEGREE; i++) edges[i] = rand() % VERTICES;
    for (int i = 0; i < VERTICES; i++) frontier[i] = i;
    int *d_edges, *d_seen, *d_frontier, *d_next, *d_next_count;
    cudaMalloc(&d_edges, sizeof(edges));
    cudaMalloc(&d_seen, VERTICES * sizeof(int));
    cudaMalloc(&d_frontier, VERTICES * sizeof(int));
    cudaMalloc(&d_next, VERTICES * sizeof(int));
    cudaMalloc(&d_next_count, sizeof(int));
    cudaMemcpy(d_edges, edges, sizeof(edges), cudaMemcpyHostToDevice);
    cudaMemset(d_seen, 0, VERTICES * sizeof(int));
    cudaMemcpy(d_frontier, frontier, sizeof(frontier), cudaMemcpyHostToDevice);
    cudaMemset(d_next_count, 0, sizeof(int));
    expand<<<(VERTICES + 63) / 64, 64>>>(d_edges, d_seen, d_frontier, VERTICES, d_next, d_next_count);
    int found;
    cudaMemcpy(&found, d_next_count, sizeof(int), cudaMemcpyDeviceToHost);
    printf("%d\n", found);
}
