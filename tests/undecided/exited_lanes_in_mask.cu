// The mask names all lanes though some have exited. That is allowed: only the lanes that have not must come.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:iota
// expect: clean

__global__ void lower_part(int *data)
{
    __shared__ int tile[32];
    int lane = threadIdx.x;
    if (lane >= 20)
        return;
    tile[lane] = data[lane];
    __syncwarp();
    int left = tile[lane == 0 ? 19 : lane - 1];
    data[lane] = __shfl_xor_sync(0xffffffff, left, 1);
}
