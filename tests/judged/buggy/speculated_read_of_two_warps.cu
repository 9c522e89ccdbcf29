// Half of the second warp takes the first limit, too, and no barrier keeps lane 0 of the first warp from lowering it
// meanwhile.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:zeros
// expect: data-race

__global__ void lower_limit(int *out)
{
    __shared__ int limit[2];
    int t = threadIdx.x;
    if (t < 2)
        limit[t] = 10 + t;
    __syncthreads();
    int before = t < 48 ? limit[0] : 0; //~ data-race#1 read
    __syncwarp();
    if (t == 0)
        limit[0] = 7; //~ data-race#1 write
    __syncthreads();
    out[t] = before - limit[0];
}
