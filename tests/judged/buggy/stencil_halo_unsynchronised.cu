// A stencil of radius three: the barrier is missing between loading the tile and its halos, and using them.
//
// flags: --grid 2 --block 64 --arg 0=i32[100]:uninitialized --arg 1=i32[100]:iota --arg 2=100
// expect: data-race, uninitialized-read

#define R 3

__global__ void stencil(int *out, const int *in, int n)
{
    __shared__ int tile[64 + 2 * R];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    tile[R + t] = i < n ? in[i] : 0; //~ data-race#1 write
    if (t < R) {
        tile[t] = i >= R ? in[i - R] : 0; //~ data-race#2 write
        tile[R + 64 + t] = i + 64 < n ? in[i + 64] : 0; //~ data-race#3 write
    }
    int sum = 0;
    for (int d = -R; d <= R; d++)
        sum += tile[R + t + d]; //~ data-race#1 read, data-race#2 read, data-race#3 read, uninitialized-read
    if (i < n)
        out[i] = sum;
}
