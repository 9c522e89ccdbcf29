// The mask names all lanes though some have left. A warp barrier gives no value and waits only for lanes that have not
// exited; a shuffle must be executed by all lanes that it names, and nothing says that the others have exited by then:
// returning early and skipping the rest of the kernel are the same code.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:iota
// expect: warp-sync-mask

__global__ void lower_part(int *data)
{
    __shared__ int tile[32];
    int lane = threadIdx.x;
    if (lane >= 20)
        return;
    tile[lane] = data[lane];
    __syncwarp();
    int left = tile[lane == 0 ? 19 : lane - 1];
    data[lane] = __shfl_xor_sync(0xffffffff, left, 1); //~ warp-sync-mask sync
}
