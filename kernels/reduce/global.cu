// Sum in global memory, one launch a step: in the step of distance `stride` every element adds the one
// `stride` places to its right. After ceil(log2 n) steps element 0 holds the sum of all.
//
// Blocks of one launch run in any order, so a step must read one buffer and write another.

__global__ void reduce_step(float *out, const float *in, int n, int stride)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float sum = in[i];
    if (i + stride < n)
        sum += in[i + stride]; //~[in-place] data-race#1 read
    out[i] = sum;              //~[in-place] data-race#1 write
}
