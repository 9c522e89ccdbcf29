// A thread's allocation is freed before its last read.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:iota
// expect: use-after-free

__global__ void scratch(int *data)
{
    int t = threadIdx.x;
    volatile int *mine = (int *)malloc(2 * sizeof(int));
    if (mine == nullptr)
        return;
    mine[0] = data[t];
    mine[1] = 2 * mine[0];
    free((void *)mine);
    data[t] = mine[1]; //~ use-after-free read
}
