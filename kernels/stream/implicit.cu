// A pipeline whose first half is on a stream of its own and whose second half is on the default stream.

/// Brightens each pixel, up to the brightest that there is.
__global__ void brighten(int *pixels, int by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        pixels[i] = min(pixels[i] + by, 255); //~[default-non-blocking] data-race#2 write
}

/// What is missing to the brightest.
__global__ void invert(int *out, const int *pixels, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = 255 - pixels[i]; //~[default-non-blocking] data-race#1 read, data-race#2 read
}

/// What both make of all pixels, by one thread.
__global__ void both_all(int *out, const int *pixels, int by, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = 255 - min(pixels[i] + by, 255);
}
