// One warp alone takes the first limit before its lane 0 lowers it. The compiler loads it in all threads, which does no
// harm, and drops the value in those that did not ask for it.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:zeros
// expect: clean

__global__ void lower_limit(int *out)
{
    __shared__ int limit[2];
    int t = threadIdx.x;
    if (t < 2)
        limit[t] = 10 + t;
    __syncthreads();
    int before = t < 32 ? limit[0] : 0;
    __syncwarp();
    if (t == 0)
        limit[0] = 7;
    __syncthreads();
    out[t] = before - limit[0];
}
