// The exclusive sums of a block's flags, as every block computes them anew: all blocks leave the same sums in the same place, one warp adds
// up without a barrier, and the masks of the votes leave out who votes.
__device__ int sum_of_warps(int value, volatile int *sums) {
  int at = threadIdx.x + 32;
  sums[at - 32] = 0;
  sums[at] = value;
  for (int step = 1; step < 32; step *= 2)
    sums[at] = value += sums[at - step];
  return sums[at - 1];
}

extern "C" __global__ void known_races(const int *in, int *out) {
  __shared__ int sums[64];
  int t = threadIdx.x, lane = t % 32, warp = t / 32;
  unsigned before = (1u << lane) - 1;
  int flag = in[t] > 64;
  int mine = __popc(__ballot_sync(before, flag));
  if (lane == 31)
    sums[warp] = mine + flag;
  __syncthreads();
  if (t < 32)
    sums[t] = sum_of_warps(sums[t], sums);
  __syncthreads();
  out[t] = mine + sums[warp];
}
