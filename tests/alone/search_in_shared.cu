// right
// A whole search in a block, with two queues in shared memory.
__global__ void walk(const int *starts, const int *edges, int *depth, int n)
{
    __shared__ int queue[2][1024];
    __shared__ int size[2];
    if (threadIdx.x == 0) { queue[0][0] = 0; size[0] = 1; size[1] = 0; }
    __syncthreads();
    int now = 0;
    for (int level = 1; size[now] > 0 && level < n; level++) {
        for (int i = threadIdx.x; i < size[now]; i += blockDim.x) {
            int v = queue[now][i];
            for (int e = starts[v]; e < starts[v + 1]; e++)
                if (atomicCAS(&depth[edges[e]], 0, level) == 0) {
                    int at = atomicAdd(&size[1 - now], 1);
                    if (at < 1024) queue[1 - now][at] = edges[e];
                }
        }
        __syncthreads();
        if (threadIdx.x == 0) size[now] = 0;
        __syncthreads();
        now = 1 - now;
    }
}
