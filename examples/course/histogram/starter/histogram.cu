// Histogram of bytes: bins[v] counts the elements of value v. All bins are zero before the launch.
//
// Let each block count in shared memory, and then add what it has counted to the bins. There may be
// more elements than threads, and more threads than elements.
__global__ void histogram(const unsigned char *data, unsigned int *bins, int n)
{
    __shared__ unsigned int counts[256];
}
