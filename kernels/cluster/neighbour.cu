// Each block of a cluster gives its part to the one before it, which reads it out of the other's shared memory.

extern __shared__ int part[];

/// All threads of the cluster meet.
__device__ void cluster_sync()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
#endif
}

/// The same place in the shared memory of the next block of the cluster.
__device__ int *in_next_block(int *place)
{
#if __CUDA_ARCH__ >= 900
    int *there;
    asm("{\n\t.reg .u32 rank, blocks;\n\tmov.u32 rank, %%cluster_ctarank;\n\tmov.u32 blocks, %%cluster_nctarank;\n\t"
        "add.u32 rank, rank, 1;\n\trem.u32 rank, rank, blocks;\n\tmapa.u64 %0, %1, rank;\n\t}"
        : "=l"(there)
        : "l"(place));
    return there;
#else
    return place;
#endif
}

__global__ void neighbour(int *out, const int *in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = in[i]; //~[read-before-barrier] data-race#1 write
#ifndef BUG_READ_BEFORE_BARRIER
    cluster_sync();
#endif
    out[i] = *in_next_block(&part[threadIdx.x]); //~[read-before-barrier] data-race#1 read, cluster-memory read, uninitialized-read //~[early-exit] cluster-memory#2 read
#ifndef BUG_EARLY_EXIT
    cluster_sync(); // nobody leaves while others read
#endif
} //~[early-exit] cluster-memory#2 exit

/// The same by one thread.
__global__ void neighbour_reference(int *out, const int *in, int blocks, int each, int threads)
{
    for (int i = 0; i < blocks * threads; i++) {
        int block = i / threads;
        int next = block / each * each + (block + 1) % each;
        out[i] = in[next * threads + i % threads];
    }
}
