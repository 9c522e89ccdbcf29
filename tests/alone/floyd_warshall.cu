// right
// A step of all shortest paths: `pass` is a row and a column.
__global__ void step(unsigned *distance, unsigned n, unsigned pass)
{
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n)
        return;
    unsigned old = distance[y * n + x], other = distance[y * n + pass] + distance[pass * n + x];
    if (other < old)
        distance[y * n + x] = other;
}
