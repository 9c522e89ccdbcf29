// doubtful: out-of-bounds
// Sums of seven neighbours. Callers pass pointers to the first element behind a halo of three, or the kernel is wrong at both ends.
#define RADIUS 3
#define BLOCK 128

__global__ void smooth(float *out, const float *in)
{
    __shared__ float near[BLOCK + 2 * RADIUS];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    int at = threadIdx.x + RADIUS;
    near[at] = in[i];
    if (threadIdx.x < RADIUS) {
        near[at - RADIUS] = in[i - RADIUS];
        near[at + BLOCK] = in[i + BLOCK];
    }
    __syncthreads();
    float sum = 0;
    for (int d = -RADIUS; d <= RADIUS; d++)
        sum += near[at + d];
    out[i] = sum;
}
