// A counter is updated atomically and read through the read-only cache behind the barrier.
//
// flags: --grid 1 --block 64 --arg 0=i32[1]:zeros --arg 1=i32[64]:uninitialized
// expect: non-coherent-read

__global__ void count(int *counter, int *out)
{
    atomicAdd(counter, 1); //~ non-coherent-read#1 atomic
    __syncthreads();
    out[threadIdx.x] = __ldg(counter); //~ non-coherent-read#1 read
}
