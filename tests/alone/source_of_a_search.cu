// right
__global__ void begin(int *distance, int *frontier, int n, int source)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    distance[i] = i == source ? 0 : 1 << 30;
    if (i == source)
        frontier[0] = source;
}
