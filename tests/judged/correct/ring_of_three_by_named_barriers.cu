// A producer and a consumer warp with a ring of three buffers: a full and an empty barrier for each.
//
// flags: --grid 1 --block 64 --arg 0=i32[32]:zeros --arg 1=i32[224]:iota
// expect: clean

__global__ void pipeline(int *out, const int *in)
{
    __shared__ int ring[3][32];
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
#pragma unroll 1
        for (int step = 0; step < 7; step++) {
            int slot = step % 3;
            if (step >= 3)
                asm volatile("bar.sync %0, 64;" ::"r"(4 + slot) : "memory");
            ring[slot][lane] = in[step * 32 + lane];
            asm volatile("bar.arrive %0, 64;" ::"r"(1 + slot) : "memory");
        }
    } else {
        int sum = 0;
#pragma unroll 1
        for (int step = 0; step < 7; step++) {
            int slot = step % 3;
            asm volatile("bar.sync %0, 64;" ::"r"(1 + slot) : "memory");
            sum += ring[slot][31 - lane];
            if (step + 3 < 7)
                asm volatile("bar.arrive %0, 64;" ::"r"(4 + slot) : "memory");
        }
        out[lane] = sum;
    }
}
