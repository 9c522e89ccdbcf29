// doubtful: data-race
// Without a threshold, each thread reads what its neighbour writes.
__global__ void clip(float *x, float threshold)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threshold == 0.0f)
        x[i] = x[i + 1];
    else if (x[i] > threshold)
        x[i] = threshold;
}
