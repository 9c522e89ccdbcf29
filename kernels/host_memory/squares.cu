// Writes where the host looks: `out` may be memory of the host.

__global__ void squares(int *out, const int *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = data[i] * data[i]; //~[mapped-read-early, managed-read-early] data-race write
}

/// The same by one thread.
__global__ void squares_all(int *out, const int *data, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = data[i] * data[i];
}
