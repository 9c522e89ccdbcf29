// Some lanes leave early. The warp barrier names all lanes and waits only for those that have not exited; the
// mask of the shuffle was asked for before anybody left.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:iota
// expect: clean

__global__ void lower_part(int *data)
{
    __shared__ int tile[32];
    int lane = threadIdx.x;
    unsigned stays = __ballot_sync(0xffffffff, lane < 20);
    if (lane >= 20)
        return;
    tile[lane] = data[lane];
    __syncwarp();
    int left = tile[lane == 0 ? 19 : lane - 1];
    data[lane] = __shfl_xor_sync(stays, left, 1);
}
