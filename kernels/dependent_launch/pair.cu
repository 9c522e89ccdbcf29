// The second kernel may begin while the first one still runs: its launch is a programmatic dependent one, and the first kernel has a trigger. What it does
// before it waits must be its own.

/// `squares[i]` is the square of `in[i]`.
__global__ void square(int *squares, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = i < n ? in[i] : 0; //~[input-reused] missing-dependency-wait#1 read //~[wait-missing, no-barrier] missing-dependency-wait#2 read
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
    if (i < n)
        squares[i] = value * value; //~[wait-missing, no-barrier] missing-dependency-wait#1 write
}

/// Adds up the squares from both ends, each with a weight.
__global__ void weigh(int *out, const int *squares, const int *weights, int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int weight = i < n ? weights[i] : 0;
#ifdef BUG_INPUT_REUSED
    if (i < n)
        in[i] = 0; //~[input-reused] missing-dependency-wait#1 write
#endif
#if __CUDA_ARCH__ >= 900
#if defined(BUG_NO_BARRIER)
    if (threadIdx.x == 0)
        cudaGridDependencySynchronize();
#elif !defined(BUG_WAIT_MISSING)
    cudaGridDependencySynchronize();
#endif
#endif
    if (i < n) {
        out[i] = weight * (squares[i] + squares[n - 1 - i]); //~[wait-missing, no-barrier] missing-dependency-wait#1 read, wrong-result
#ifndef BUG_INPUT_REUSED
        in[i] = 0; //~[wait-missing, no-barrier] missing-dependency-wait#2 write
#endif
    }
}

/// The same by one thread.
__global__ void weigh_reference(int *out, const int *in, const int *weights, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = weights[i] * (in[i] * in[i] + in[n - 1 - i] * in[n - 1 - i]);
}
