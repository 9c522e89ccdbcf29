// Two threads fill in two bit-fields that share a byte: each reads the byte, changes its half, and writes all of it.
//
// flags: --grid 1 --block 32 --arg 0=u8[16]:zeros
// expect: data-race

struct Nibbles {
    unsigned char low : 4;
    unsigned char high : 4;
};

__device__ __noinline__ void set_low(Nibbles *pair, int value)
{
    pair->low = value; //~ data-race#1 read, data-race#2 write, data-race#3 write
}

__device__ __noinline__ void set_high(Nibbles *pair, int value)
{
    pair->high = value; //~ data-race#1 write, data-race#2 read, data-race#3 write
}

__global__ void fill(Nibbles *pairs)
{
    int i = threadIdx.x / 2;
    if (threadIdx.x % 2 == 0)
        set_low(pairs + i, i);
    else
        set_high(pairs + i, i);
}
