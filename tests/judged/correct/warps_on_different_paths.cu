// Each warp does something else, by a table of cases, with warp-level synchronisation of its own; the block meets
// again at one barrier.
//
// flags: --grid 1 --block 160 --arg 0=i32[160]:iota
// expect: clean

__global__ void specialists(int *data)
{
    __shared__ int tile[160];
    int t = threadIdx.x;
    int lane = t % 32;
    int value = data[t];
    switch (t / 32) {
    case 0:
        value = __shfl_sync(0xffffffff, value, 31 - lane);
        break;
    case 1:
        value = __reduce_max_sync(0xffffffff, value);
        break;
    case 2:
        tile[t] = value;
        __syncwarp();
        value = tile[64 + (lane + 1) % 32];
        __syncwarp();
        break;
    case 3:
        value = __ballot_sync(0xffffffff, value % 3 == 0);
        break;
    default:
        if (lane < 8)
            value += __shfl_down_sync(0xff, value, 1, 8);
    }
    tile[t] = value;
    __syncthreads();
    data[t] = tile[(t + 37) % 160];
}
