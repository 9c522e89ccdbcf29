// The flag is raised twice by the same thread, the second time by a relaxed store. Who sees the second value has seen
// the release as well.
//
// flags: --grid 2 --block 1 --arg 0=i32[1]:uninitialized --arg 1=i32[1]:zeros --arg 2=u32[1]:zeros
// expect: clean

__global__ void pass(int *out, int *value, unsigned *flag)
{
    if (blockIdx.x == 0) {
        *value = 7;
        asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
        asm volatile("st.relaxed.gpu.global.u32 [%0], 2;" ::"l"(flag) : "memory");
    } else {
        unsigned seen;
        do
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
        while (seen != 2);
        *out = *value;
    }
}
