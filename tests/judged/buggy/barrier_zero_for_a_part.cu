// Two warps meet at barrier 0 by themselves while the others wait for the whole block, at barrier 0 too.
//
// flags: --grid 1 --block 128 --arg 0=i32[128]:iota
// expect: divergent-barrier, deadlock

__global__ void parts(int *data)
{
    int t = threadIdx.x;
    int value = data[t];
    if (t < 64)
        asm volatile("bar.sync 0, 64;" ::: "memory"); //~ divergent-barrier wait, deadlock wait
    value *= 2;
    __syncthreads(); //~ divergent-barrier wait
    data[t] = value;
}
