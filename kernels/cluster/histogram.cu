// Histogram whose bins lie in the shared memory of all blocks of a cluster, a part in each. A thread counts an element wherever its bin is.

extern __shared__ int part[];

/// All threads of the cluster meet.
__device__ void cluster_sync()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
#endif
}

/// The same place in the shared memory of the cluster's block of this rank.
__device__ int *in_block(int *place, int rank)
{
#if __CUDA_ARCH__ >= 900
    int *there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(place), "r"(rank));
    return there;
#else
    return place;
#endif
}

__device__ int cluster_rank()
{
    unsigned rank = 0;
#if __CUDA_ARCH__ >= 900
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
    return rank;
}

/// `each` bins in each block.
__global__ void histogram(int *bins, const int *data, int n, int each)
{
    for (int b = threadIdx.x; b < each; b += blockDim.x)
        part[b] = 0; //~[block-barrier] data-race#1 write
#ifdef BUG_BLOCK_BARRIER
    __syncthreads(); // the other blocks may not have begun
#else
    cluster_sync();
#endif
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(in_block(&part[data[i] % each], data[i] / each), 1); //~[block-barrier] data-race#1 atomic, cluster-memory atomic, uninitialized-read
    cluster_sync();
    for (int b = threadIdx.x; b < each; b += blockDim.x)
        atomicAdd(&bins[cluster_rank() * each + b], part[b]);
}

/// The same by one thread.
__global__ void histogram_reference(int *bins, const int *data, int n)
{
    for (int i = 0; i < n; i++)
        bins[data[i]]++;
}
