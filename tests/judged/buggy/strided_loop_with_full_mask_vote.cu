// Lanes stride over a row of forty elements and vote in the loop: the second round has only eight lanes.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:zeros --arg 1=i32[40]:iota --arg 2=40
// expect: warp-sync-mask

__global__ void count(int *out, const int *in, int n)
{
    int lane = threadIdx.x;
    int found = 0;
    for (int i = lane; i < n; i += 32)
        found += __popc(__ballot_sync(0xffffffff, in[i] % 2)); //~ warp-sync-mask sync
    out[lane] = found;
}
