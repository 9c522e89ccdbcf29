// The second block stores to the flag instead of adding to it: a store starts anew and carries nothing on.
//
// flags: --grid 3 --block 1 --arg 0=i32[1]:uninitialized --arg 1=i32[1]:zeros --arg 2=u32[1]:zeros
// expect: data-race

__global__ void pass(int *out, int *value, unsigned *flag)
{
    if (blockIdx.x == 0) {
        *value = 7; //~ data-race#1 write
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(flag) : "memory");
    } else if (blockIdx.x == 1) {
        while (*(volatile unsigned *)flag != 1) {}
        *(volatile unsigned *)flag = 2;
    } else {
        unsigned seen;
        do
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
        while (seen != 2);
        *out = *value; //~ data-race#1 read
    }
}
