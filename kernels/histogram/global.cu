// Histogram in global memory: one atomic addition for each element.

__global__ void histogram(int *bins, const int *data, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;) { //~[index-stands-still] no-progress run
#ifdef BUG_PLAIN_INCREMENT
        bins[data[i]] += 1; //~ data-race#1 read write, data-race#2 write
#else
        atomicAdd(&bins[data[i]], 1); //~[index-stands-still] no-progress run
#endif
#ifdef BUG_INDEX_STANDS_STILL
        i += 0;
#else
        i += gridDim.x * blockDim.x;
#endif
    }
}
