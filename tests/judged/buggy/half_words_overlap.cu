// Each thread owns the two bytes of a half word, but every fourth one also writes the byte behind them, which is
// the low byte of its right neighbour's.
//
// flags: --grid 1 --block 32 --arg 0=u8[64]:uninitialized
// expect: data-race

__global__ void pack(unsigned char *out)
{
    __shared__ __align__(2) unsigned char tile[66];
    int t = threadIdx.x;
    *(unsigned short *)(tile + 2 * t) = t; //~ data-race#1 write
    if (t % 4 == 3)
        tile[2 * t + 2] = 0xff; //~ data-race#1 write
    __syncthreads();
    out[2 * t] = tile[2 * t];
    out[2 * t + 1] = tile[2 * t + 1];
}
