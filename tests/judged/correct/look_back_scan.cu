// A scan in one pass: each block waits for its left neighbour's prefix. Status and value travel in one 64-bit
// word, so one relaxed access carries both and nothing else has to be ordered.
//
// flags: --grid 4 --block 32 --arg 0=i32[128]:iota --arg 1=u64[4]:zeros
// expect: clean

__global__ void scan(int *data, unsigned long long *prefixes)
{
    int lane = threadIdx.x;
    int i = blockIdx.x * 32 + lane;
    int sum = data[i];
    for (int d = 1; d < 32; d *= 2) {
        int left = __shfl_up_sync(0xffffffff, sum, d);
        sum += lane >= d ? left : 0;
    }
    unsigned before = 0;
    if (lane == 31) {
        if (blockIdx.x > 0) {
            unsigned long long word;
            do
                word = *(volatile unsigned long long *)&prefixes[blockIdx.x - 1];
            while (word >> 32 == 0);
            before = (unsigned)word;
        }
        atomicExch(&prefixes[blockIdx.x], 1ull << 32 | before + sum);
    }
    data[i] = sum + __shfl_sync(0xffffffff, before, 31);
}
