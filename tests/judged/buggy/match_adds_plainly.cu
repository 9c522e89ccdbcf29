// The elected lanes add plainly: within a warp each key has one lane, but other warps have lanes with the same key.
//
// flags: --grid 1 --block 64 --arg 0=i32[8]:zeros --arg 1=u8[64]:random:0..=7
// expect: data-race

__global__ void histogram(int *bins, const unsigned char *keys)
{
    int lane = threadIdx.x % 32;
    int key = keys[threadIdx.x];
    unsigned peers = __match_any_sync(0xffffffff, key);
    int weight = __reduce_add_sync(peers, 1);
    if (lane == __ffs(peers) - 1)
        bins[key] += weight; //~ data-race#1 read write, data-race#2 write
}
