// A breadth-first step: several nodes find the same neighbour unvisited and mark it, each with the same value.
//
// flags: --grid 2 --block 32 --arg 0=i32[64]:zeros --arg 1=i32[65]:iota --arg 2=i32[64]:const:5 --arg 3=i32[64]:uninitialized --arg 4=i32[1]:zeros --arg 5=0
// expect: data-race

__global__ void expand(int *level, const int *start, const int *edges, int *frontier, int *size, int depth)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= 64 || level[node] != depth) //~ data-race#1 read
        return;
    for (int e = start[node]; e < start[node + 1]; e++) {
        int next = edges[e];
        if (level[next] == 0) {            //~ data-race#2 read
            level[next] = depth + 1;       //~ data-race#1 write, data-race#2 write, data-race#3 write
            frontier[atomicAdd(size, 1)] = next;
        }
    }
}
