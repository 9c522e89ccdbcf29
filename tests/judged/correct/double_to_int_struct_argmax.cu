// An argmax over pairs of a double and an index, structures with padding, by shared memory.
//
// flags: --grid 1 --block 64 --arg 0=i32[1]:uninitialized --arg 1=f64[64]:random:-9..=9
// expect: clean

struct Best {
    double value;
    int index;
};

__global__ void argmax(int *out, const double *in)
{
    __shared__ Best tile[64];
    int t = threadIdx.x;
    tile[t] = Best{in[t], t};
    __syncthreads();
    for (int d = 32; d > 0; d /= 2) {
        if (t < d && tile[t + d].value > tile[t].value)
            tile[t] = tile[t + d];
        __syncthreads();
    }
    if (t == 0)
        *out = tile[0].index;
}
