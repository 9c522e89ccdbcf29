// Half of the block spins on a flag that the other half raises before it comes to the barrier.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:zeros --max-steps 200000
// expect: clean

__global__ void unstuck(int *out)
{
    __shared__ int raised;
    int t = threadIdx.x;
    if (t == 0)
        raised = 0;
    __syncthreads();
    if (t == 0)
        *(volatile int *)&raised = 1;
    if (t >= 32) {
        while (*(volatile int *)&raised == 0) {}
    }
    __syncthreads();
    out[t] = raised;
}
