// Histogram with a private copy in shared memory for each block: zero it, count into it, and add
// it to the result. The number of bins is free; the threads of a block share them out.

extern __shared__ int mine[];

__global__ void histogram(int *bins, const int *data, int n, int bin_count)
{
#ifdef BUG_ONE_BIN_A_THREAD
    int bin_step = bin_count; // right only where the block has a thread for every bin
#else
    int bin_step = blockDim.x;
#endif

    for (int b = threadIdx.x; b < bin_count; b += bin_step)
        mine[b] = 0; //~[no-barrier-after-zeroing] data-race#1 write
#ifndef BUG_NO_BARRIER_AFTER_ZEROING
    __syncthreads();
#endif

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
#ifdef BUG_PLAIN_INCREMENT
        mine[data[i]] += 1; //~ data-race#2 read write, data-race#3 write
#else
        atomicAdd(&mine[data[i]], 1); //~[no-barrier-after-zeroing] data-race#1 atomic, uninitialized-read //~[no-barrier-before-merge] data-race#4 atomic //~[one-bin-a-thread] uninitialized-read
#endif
    }
#ifndef BUG_NO_BARRIER_BEFORE_MERGE
    __syncthreads();
#endif

    for (int b = threadIdx.x; b < bin_count; b += bin_step) {
#ifdef BUG_PLAIN_MERGE
        bins[b] += mine[b]; //~ data-race#5 read write, data-race#6 write
#else
        atomicAdd(&bins[b], mine[b]); //~[no-barrier-before-merge] data-race#4 read
#endif
    }
}
