// Whole warps and single lanes return early; those who stay need no barrier any more, or only one of their warp that
// does not name those who have gone.
//
// flags: --grid 2 --block 96 --arg 0=i32[150]:iota --arg 1=150
// expect: clean

__global__ void neighbours(int *data, int n)
{
    __shared__ int tile[96];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    unsigned staying = __ballot_sync(0xffffffff, i < n);
    if (i >= n)
        return;
    tile[t] = data[i];
    __syncwarp(staying);
    int partner = t ^ 1;
    if (staying >> partner % 32 & 1)
        data[i] = tile[partner];
}
