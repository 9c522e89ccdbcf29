// Inclusive scan of each block's part: out[i] is the sum of the block's elements up to in[i].
//
// The block has whole warps, and one int of dynamic shared memory for each thread. Begin with a scan in
// shared memory; then let each warp scan its own elements by shuffles, and bring the sums of the
// warps together.
__global__ void scan(const int *in, int *out, int n)
{
    extern __shared__ int sums[];
}
