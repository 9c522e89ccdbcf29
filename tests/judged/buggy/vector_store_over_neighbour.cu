// Three words belong to each thread, but it stores a vector of four: the last one is its neighbour's first.
//
// flags: --grid 1 --block 32 --arg 0=i32[128]:zeros
// expect: data-race

struct __align__(16) Four {
    int x, y, z, w;
};

__global__ void fill(int *out)
{
    int t = threadIdx.x;
    out[4 * t + 4 < 128 ? 4 * t + 4 : 0] = t; //~ data-race#1 write
    *(Four *)(out + 4 * t) = Four{t, t, t, 0}; //~ data-race#1 write
}
