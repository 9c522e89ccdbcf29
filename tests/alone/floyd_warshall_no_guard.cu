// right
// Right as long as there are as many threads as elements: other sizes are told as not seen.
__global__ void step(unsigned *distance, unsigned n, unsigned pass)
{
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned old = distance[y * n + x], other = distance[y * n + pass] + distance[pass * n + x];
    if (other < old)
        distance[y * n + x] = other;
}
