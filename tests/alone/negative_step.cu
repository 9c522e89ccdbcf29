// doubtful: divergent-barrier
// A negative step takes another way, in which half of the threads miss a barrier.
__global__ void move(float *x, float step)
{
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x] * step;
    if (step > 0 || threadIdx.x < 32)
        __syncthreads();
    x[threadIdx.x] = s[threadIdx.x];
}
