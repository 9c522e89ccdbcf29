// Three blocks pass a value on: the second one never fences, it only adds to the flag what the third waits for. Its
// addition carries on what the first has released.
//
// flags: --grid 3 --block 1 --arg 0=i32[1]:uninitialized --arg 1=i32[1]:zeros --arg 2=u32[1]:zeros
// expect: clean

__global__ void pass(int *out, int *value, unsigned *flag)
{
    if (blockIdx.x == 0) {
        *value = 7;
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(flag) : "memory");
    } else if (blockIdx.x == 1) {
        while (atomicCAS(flag, 1, 2) != 1) {}
    } else {
        unsigned seen;
        do
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
        while (seen != 2);
        *out = *value;
    }
}
