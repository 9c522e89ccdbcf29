// Lanes with equal keys find each other and elect one of them to add up for all.
//
// flags: --grid 2 --block 64 --arg 0=i32[8]:zeros --arg 1=u8[128]:random:0..=7
// expect: clean

__global__ void histogram(int *bins, const unsigned char *keys)
{
    int lane = threadIdx.x % 32;
    int key = keys[blockIdx.x * 64 + threadIdx.x];
    unsigned peers = __match_any_sync(0xffffffff, key);
    int weight = __reduce_add_sync(peers, 1);
    if (lane == __ffs(peers) - 1)
        atomicAdd(&bins[key], weight);
}
