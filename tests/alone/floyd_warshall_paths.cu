// wrong: data-race
// Each step also changes row and column of the step itself, which others read.
__global__ void step(unsigned *distance, unsigned n, unsigned k)
{
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n)
        return;
    distance[y * n + x] = min(distance[y * n + x], distance[y * n + k] + distance[k * n + x]) + 1;
}
