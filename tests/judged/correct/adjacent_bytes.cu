// Every thread owns one byte of a tile and overwrites it again and again while its neighbours do the same with the
// bytes beside it: bytes are separate memory locations.
//
// flags: --grid 1 --block 64 --arg 0=u8[64]:iota
// expect: clean

__global__ void bytes(unsigned char *data)
{
    __shared__ unsigned char tile[64];
    int t = threadIdx.x;
    tile[t] = data[t];
    for (int round = 0; round < 4; round++)
        tile[t] += tile[t] * 3 + round;
    __syncthreads();
    data[t] = tile[63 - t];
}
