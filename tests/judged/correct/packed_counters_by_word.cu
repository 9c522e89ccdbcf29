// Counters of eight bits, four in a word, are counted by atomic additions to the word.
//
// flags: --grid 1 --block 64 --arg 0=u8[16]:uninitialized --arg 1=u8[64]:random:0..=15
// expect: clean

__global__ void histogram(unsigned char *bins, const unsigned char *values)
{
    __shared__ unsigned words[4];
    int t = threadIdx.x;
    if (t < 4)
        words[t] = 0;
    __syncthreads();
    int v = values[t];
    atomicAdd(&words[v / 4], 1u << 8 * (v % 4));
    __syncthreads();
    if (t < 16)
        bins[t] = reinterpret_cast<unsigned char *>(words)[t];
}
