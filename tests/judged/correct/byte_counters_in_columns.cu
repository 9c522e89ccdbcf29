// A histogram with a byte counter for each thread and bin. The counters of four threads share a word, and
// each thread increments its own without atomics.
//
// flags: --grid 2 --block 32 --arg 0=i32[8]:zeros --arg 1=u8[512]:random:0..=7
// expect: clean

__global__ void histogram(int *bins, const unsigned char *values)
{
    __shared__ unsigned char counts[8][32];
    int t = threadIdx.x;
    for (int bin = 0; bin < 8; bin++)
        counts[bin][t] = 0;
    for (int i = 0; i < 8; i++)
        counts[values[(blockIdx.x * 8 + i) * 32 + t]][t]++;
    __syncthreads();
    if (t < 8) {
        int sum = 0;
        for (int other = 0; other < 32; other++)
            sum += counts[t][other];
        atomicAdd(&bins[t], sum);
    }
}
