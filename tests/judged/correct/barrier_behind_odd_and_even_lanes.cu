// Odd and even lanes do different things; the warp is whole again at the barrier.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:uninitialized --arg 1=i32[64]:iota
// expect: clean

__global__ void swap_neighbours(int *out, const int *in)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    if (t % 2 == 0) {
        tile[t] = in[t];
        for (int i = 0; i < t % 5; i++)
            tile[t] += in[i];
    } else {
        tile[t] = -in[t];
    }
    __syncthreads();
    out[t] = tile[t ^ 1];
}
