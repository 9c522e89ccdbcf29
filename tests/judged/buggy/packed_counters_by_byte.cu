// Counters of eight bits: a private row for each thread would do, but neighbours share one.
//
// flags: --grid 1 --block 32 --arg 0=u8[16]:uninitialized --arg 1=u8[32]:random:0..=15
// expect: data-race

__global__ void histogram(unsigned char *bins, const unsigned char *values)
{
    __shared__ unsigned char counts[16][16];
    int t = threadIdx.x;
    for (int i = t; i < 256; i += 32)
        counts[i / 16][i % 16] = 0;
    __syncthreads();
    counts[t / 2][values[t] & 3] += 1; //~ data-race#1 read write, data-race#2 write
    __syncthreads();
    if (t < 16) {
        int sum = 0;
        for (int row = 0; row < 16; row++)
            sum += counts[row][t];
        bins[t] = sum;
    }
}
