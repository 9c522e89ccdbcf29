// A breadth-first step: who swaps the mark in has found the node, and looks at marks only by atomics.
//
// flags: --grid 2 --block 32 --arg 0=i32[64]:zeros --arg 1=i32[65]:iota --arg 2=i32[64]:const:5 --arg 3=i32[64]:uninitialized --arg 4=i32[1]:zeros --arg 5=0
// expect: clean

__global__ void expand(int *visited, const int *start, const int *edges, int *frontier, int *size, int depth)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= 64)
        return;
    for (int e = start[node]; e < start[node + 1] && e < 64; e++) {
        int next = __ldg(&edges[e]);
        if (atomicCAS(&visited[next], 0, depth + 1) == 0)
            frontier[atomicAdd(size, 1)] = next;
    }
}
