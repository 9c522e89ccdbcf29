// The mask of the lower half leaves out its last lane, which executes the barrier all the same.
//
// flags: --grid 1 --block 32 --arg 0=i32[16]:iota
// expect: warp-sync-mask, data-race, uninitialized-read

__global__ void lower_half(int *data)
{
    __shared__ int tile[16];
    int lane = threadIdx.x;
    if (lane < 16) {
        tile[lane] = data[lane]; //~ data-race#1 write
        __syncwarp(0x00007fff); //~ warp-sync-mask sync
        data[lane] = tile[15 - lane]; //~ data-race#1 read, uninitialized-read
    }
}
