// One warp produces tiles, the other consumes them, through two buffers and four named barriers: "full" and
// "empty" of each buffer. Who only announces something arrives, who needs it waits.
//
// flags: --grid 1 --block 64 --arg 0=i32[32]:zeros --arg 1=i32[256]:iota
// expect: clean

#define FULL 1 // and 2
#define EMPTY 3 // and 4

__device__ void arrive(int id)
{
    asm volatile("bar.arrive %0, 64;" ::"r"(id) : "memory");
}

__device__ void wait(int id)
{
    asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory");
}

__global__ void pipeline(int *out, const int *in)
{
    __shared__ int tile[2][32];
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        for (int step = 0; step < 8; step++) {
            wait(EMPTY + step % 2);
            tile[step % 2][lane] = in[step * 32 + lane];
            arrive(FULL + step % 2);
        }
    } else {
        int sum = 0;
        arrive(EMPTY);
        arrive(EMPTY + 1);
        for (int step = 0; step < 8; step++) {
            wait(FULL + step % 2);
            sum += tile[step % 2][31 - lane];
            if (step < 6)
                arrive(EMPTY + step % 2);
        }
        out[lane] = sum;
    }
}
