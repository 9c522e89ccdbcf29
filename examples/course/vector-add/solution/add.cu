// Adds two images: one thread an element, rows `pitch` elements apart.
__global__ void add(const float *a, const float *b, float *c, int width, int height, int pitch)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        c[y * pitch + x] = a[y * pitch + x] + b[y * pitch + x];
}
