// The last warp leaves its values in the tile and exits. A barrier does not wait for those who have exited, and orders
// nothing that they did.
//
// flags: --grid 1 --block 96 --arg 0=i32[96]:iota
// expect: barrier-after-exit, data-race

__global__ void rotate(int *data)
{
    __shared__ int tile[96];
    int t = threadIdx.x;
    tile[t] = data[t]; //~ data-race write
    if (t >= 64)
        return;
    __syncthreads(); //~ barrier-after-exit wait
    data[t] = tile[t + 32]; //~ data-race read
}
