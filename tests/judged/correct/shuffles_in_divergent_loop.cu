// Lanes leave a loop one after the other. Before each round those who are left agree on who they are, and the
// shuffles name just them.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:uninitialized --arg 1=i32[64]:random:1..=6
// expect: clean

__global__ void countdown(int *out, const int *rounds)
{
    int left = rounds[threadIdx.x];
    int sum = 0;
    unsigned mask = 0xffffffff;
    for (;;) {
        mask = __ballot_sync(mask, left > 0);
        if (left <= 0)
            break;
        int leader = __ffs(mask) - 1;
        sum += __shfl_sync(mask, left, leader);
        left--;
    }
    out[threadIdx.x] = sum;
}
