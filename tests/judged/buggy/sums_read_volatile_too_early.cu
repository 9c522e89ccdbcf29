// Warps add to a total in shared memory, and thread 0 stores it as soon as its own warp has added.
//
// flags: --grid 1 --block 128 --arg 0=i32[1]:zeros --arg 1=i32[128]:iota
// expect: unordered-communication

__global__ void sum(int *out, const int *in)
{
    __shared__ int total;
    int t = threadIdx.x;
    if (t == 0)
        total = 0;
    __syncthreads();
    int own = __reduce_add_sync(0xffffffff, in[t]);
    if (t % 32 == 0)
        atomicAdd(&total, own); //~ unordered-communication atomic
    if (t == 0)
        *out = *(volatile int *)&total; //~ unordered-communication read
}
