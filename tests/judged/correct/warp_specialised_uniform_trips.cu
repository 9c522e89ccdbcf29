// One warp loads, three compute; all of them go through the same barriers, in loops of their own.
//
// flags: --grid 1 --block 128 --arg 0=i32[96]:uninitialized --arg 1=i32[256]:iota
// expect: clean

__global__ void work(int *out, const int *in)
{
    __shared__ int tile[2][64];
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    if (warp == 0) {
        for (int step = 0; step < 4; step++) {
            tile[step % 2][lane] = in[step * 64 + lane];
            tile[step % 2][lane + 32] = in[step * 64 + lane + 32];
            asm volatile("barrier.sync 0;" ::: "memory");
        }
    } else {
        int sum = 0;
        for (int step = 0; step < 4; step++) {
            asm volatile("barrier.sync 0;" ::: "memory");
            sum += tile[step % 2][(t - 32) % 64];
        }
        out[t - 32] = sum;
    }
}
