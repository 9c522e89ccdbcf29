// Adds up two elements a thread; with FAST it goes on without the barrier.
__global__ void add(float *data)
{
    __shared__ float tile[256];
    int t = threadIdx.x;
    tile[t] = data[t] / 3.0f;
#ifndef FAST
    __syncthreads();
#endif
    data[t] = tile[t] + tile[(t + 1) % blockDim.x];
}
