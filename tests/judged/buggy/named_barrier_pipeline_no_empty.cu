// A producer and a consumer warp with two buffers: the producer announces each full buffer, but never waits until
// one is empty again, so its third tile overwrites what may not have been read.
//
// flags: --grid 1 --block 64 --arg 0=i32[32]:zeros --arg 1=i32[256]:iota
// expect: data-race

__global__ void pipeline(int *out, const int *in)
{
    __shared__ int tile[2][32];
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
#pragma unroll 1
        for (int step = 0; step < 4; step++) {
            tile[step % 2][lane] = in[step * 32 + lane]; //~ data-race#1 write
            asm volatile("bar.arrive %0, 64;" ::"r"(1 + step) : "memory");
        }
    } else {
        int sum = 0;
#pragma unroll 1
        for (int step = 0; step < 4; step++) {
            asm volatile("bar.sync %0, 64;" ::"r"(1 + step) : "memory");
            sum += tile[step % 2][31 - lane]; //~ data-race#1 read
        }
        out[lane] = sum;
    }
}
