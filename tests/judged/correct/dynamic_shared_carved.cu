// Three arrays of different types are cut out of one dynamic allocation, each aligned.
//
// flags: --grid 1 --block 32 --shared 480 --arg 0=f64[32]:uninitialized --arg 1=i32[32]:iota
// expect: clean

extern __shared__ double memory[];

__global__ void carve(double *out, const int *in)
{
    double *wide = memory;
    int *words = (int *)(wide + 32);
    unsigned short *halves = (unsigned short *)(words + 32);
    unsigned char *bytes = (unsigned char *)(halves + 32);
    int t = threadIdx.x;
    wide[t] = in[t];
    words[t] = in[t];
    halves[t] = in[t];
    bytes[t] = in[t];
    __syncthreads();
    int other = 31 - t;
    out[t] = wide[other] + words[other] + halves[other] + bytes[other];
}
