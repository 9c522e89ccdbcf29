// Threads push nodes onto a list by compare-and-swap; nobody walks it in this launch.
//
// flags: --grid 2 --block 32 --arg 0=i32[1]:const:-1 --arg 1=i32[64]:uninitialized
// expect: clean

__global__ void push(int *head, int *next)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    int old = atomicAdd(head, 0);
    int seen;
    do {
        seen = old;
        next[node] = seen;
        __threadfence();
        old = atomicCAS(head, seen, node);
    } while (old != seen);
}
