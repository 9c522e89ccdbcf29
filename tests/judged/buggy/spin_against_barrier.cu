// Half of the block waits at the barrier; the other half spins on a flag that is raised behind it.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:zeros --max-steps 20000
// expect: no-progress

__global__ void stuck(int *out)
{
    __shared__ volatile int raised;
    int t = threadIdx.x;
    if (t == 0)
        raised = 0;
    __syncthreads();
    if (t >= 32) {
        while (raised == 0) {} //~ no-progress run
    }
    __syncthreads();
    if (t == 0)
        raised = 1;
    out[t] = raised;
}
