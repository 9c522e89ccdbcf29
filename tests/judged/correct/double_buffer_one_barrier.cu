// A stencil whose steps alternate between two buffers. One barrier a step is enough: whoever writes a buffer again has
// passed the barrier behind everybody's reads of it.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota
// expect: clean

__global__ void blur(int *data)
{
    __shared__ int tile[2][64];
    int t = threadIdx.x;
    int value = data[t];
    for (int step = 0; step < 6; step++) {
        int *now = tile[step & 1];
        now[t] = value;
        __syncthreads();
        value += now[(t + 1) % 64] + now[(t + 63) % 64];
    }
    data[t] = value;
}
