// A structure of a flag and a number is read in words of eight bytes. What fills the flag's word up is dropped.
//
// flags: --grid 1 --block 64 --arg 0=i64[64]:zeros
// expect: clean

struct Found {
    bool is;
    long long where;
};

__global__ void last_first(long long *out)
{
    __shared__ Found all[64];
    int t = threadIdx.x;
    all[t].is = t % 3 == 0;
    all[t].where = t;
    __syncthreads();
    unsigned long long word = *(volatile unsigned long long *)&all[63 - t].is;
    out[t] = (unsigned char)word ? all[63 - t].where : -1;
}
