// The writer releases at block scope, the reader acquires at device scope. Both scopes include the other thread,
// which is of the same block.
//
// flags: --grid 2 --block 64 --arg 0=i32[2]:uninitialized --arg 1=i32[2]:zeros --arg 2=i32[2]:zeros
// expect: clean

__global__ void pass(int *out, int *value, unsigned *flag)
{
    int b = blockIdx.x;
    if (threadIdx.x == 0) {
        value[b] = 7 + b;
        asm volatile("st.release.cta.global.u32 [%0], 1;" ::"l"(flag + b) : "memory");
    } else if (threadIdx.x == 32) {
        unsigned seen;
        do
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag + b) : "memory");
        while (seen == 0);
        out[b] = value[b];
    }
}
