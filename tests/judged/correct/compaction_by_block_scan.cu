// Stream compaction: a ballot a warp, a scan over the warps' counts, one atomic a block.
//
// flags: --grid 3 --block 96 --arg 0=i32[288]:uninitialized --arg 1=i32[1]:zeros --arg 2=i32[288]:random:-5..=5
// expect: clean

__global__ void compact(int *out, int *size, const int *in)
{
    __shared__ int counts[3];
    __shared__ int base;
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    int value = in[blockIdx.x * 96 + t];
    unsigned keep = __ballot_sync(0xffffffff, value > 0);
    if (lane == 0)
        counts[warp] = __popc(keep);
    __syncthreads();
    if (t == 0) {
        int sum = 0;
        for (int w = 0; w < 3; w++) {
            int count = counts[w];
            counts[w] = sum;
            sum += count;
        }
        base = atomicAdd(size, sum);
    }
    __syncthreads();
    if (value > 0)
        out[base + counts[warp] + __popc(keep & ((1u << lane) - 1))] = value;
}
