// The counter is raised by atomics and read plainly while others still count.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:uninitialized
// expect: data-race

__global__ void count(int *out)
{
    __shared__ int counter;
    int t = threadIdx.x;
    if (t == 0)
        counter = 0;
    __syncthreads();
    atomicAdd(&counter, 1); //~ data-race#1 atomic
    out[t] = counter; //~ data-race#1 read
}
