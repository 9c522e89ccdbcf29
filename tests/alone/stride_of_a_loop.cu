// right
// Every thread goes on by a step that the host passes: with a step of 0 it would never end.
__global__ void fill(int *x, int n, int step)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step * gridDim.x * blockDim.x)
        x[i] = n;
}
