// A stencil of radius three over a tile with halos; the block's first threads load them.
//
// flags: --grid 2 --block 64 --arg 0=i32[100]:uninitialized --arg 1=i32[100]:iota --arg 2=100
// expect: clean

#define R 3

__global__ void stencil(int *out, const int *in, int n)
{
    __shared__ int tile[64 + 2 * R];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    tile[R + t] = i < n ? in[i] : 0;
    if (t < R) {
        tile[t] = i >= R ? in[i - R] : 0;
        tile[R + 64 + t] = i + 64 < n ? in[i + 64] : 0;
    }
    __syncthreads();
    int sum = 0;
    for (int d = -R; d <= R; d++)
        sum += tile[R + t + d];
    if (i < n)
        out[i] = sum;
}
