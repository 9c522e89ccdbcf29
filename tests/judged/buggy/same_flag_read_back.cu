// The same flag, which threads also read at the same time: then it is a race, whatever the values.
//
// flags: --grid 1 --block 64 --arg 0=i32[1]:zeros --arg 1=i32[64]:iota --arg 2=i32[64]:zeros
// expect: data-race

__global__ void any_large(int *found, const int *in, int *out)
{
    if (in[threadIdx.x] > 32)
        *found = 1; //~ data-race#1 write, data-race#2 write
    out[threadIdx.x] = *found; //~ data-race#1 read
}
