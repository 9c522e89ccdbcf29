// Histogram with a private copy in shared memory, its loop a `while`. As many threads in a block as there are bins.

#define BINS 64

__global__ void histogram(int *bins, const int *data, int n)
{
#ifdef BUG_NAMES_UNDECLARED
    __shared__ int copy_of_bins[BINS]; // and is used by another name; so is the index
#else
    __shared__ int mine[BINS];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#endif
    mine[threadIdx.x] = 0; //~[names-undeclared] compile-error
    __syncthreads();

    int thread = blockIdx.x * blockDim.x + threadIdx.x;
#if defined(BUG_NAMES_UNDECLARED) || defined(BUG_OTHER_INDEX_ASKED)
    while (thread < n) { // goes by an index that stands still //~[other-index-asked] no-progress run
#else
    while (i < n) {
#endif
        atomicAdd(&mine[data[i]], 1); //~[names-undeclared] compile-error //~[other-index-asked] out-of-bounds read, no-progress run
        i += gridDim.x * blockDim.x;
    }
    __syncthreads();

    atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}
